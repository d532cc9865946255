// The parser of the store's protocol: what is right comes out whole, what is wrong is refused,
// nothing crashes.
#include "collectives/rendezvous/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collectives/rendezvous/message.h"

namespace lockstep::collectives::rendezvous {
namespace {

std::vector<Message> one_of_each() {
  return {Hello{},
          Challenge{},
          Proof{},
          Welcome{},
          Join{3, 8, 2, 4711, "node2"},
          Joined{},
          Set{1, "key", "value"},
          Get{2, "key", std::chrono::seconds(5)},
          Barrier{3, "start", std::chrono::seconds(5)},
          Leave{4},
          Abort{"no space"},
          Done{5},
          Value{6, std::string(1000, 'x')},
          Failed{7, "late"},
          Aborted{3, "rank 3 died"}};
}

TEST(Frames, EveryMessageComesOutAsItWentIn) {
  FrameParser parser;
  parser.set_limit(kFrameLimit);
  for (const Message& message : one_of_each()) {
    const Bytes bytes = encode(message);
    // Byte by byte: a frame may be torn anywhere.
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FALSE(parser.next());
      parser.append({&bytes[i], 1});
    }
    const auto frame = parser.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->kind, message.index());
    EXPECT_EQ(encode(decode(*frame)), bytes);
  }
  EXPECT_FALSE(parser.next());
}

TEST(Frames, SeveralInOnePieceAreCutApart) {
  Bytes all;
  for (const Message& message : one_of_each()) {
    const Bytes bytes = encode(message);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  FrameParser parser;
  parser.set_limit(kFrameLimit);
  parser.append(all);
  for (const Message& message : one_of_each()) {
    const auto frame = parser.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->kind, message.index());
  }
}

TEST(Frames, TooLongOnesAreRefusedByTheirPrefixAlone) {
  FrameParser parser;
  const Bytes fits = encode_frame(0, Bytes(kFrameLimitBeforeAuthentication - 6));
  parser.append(fits);
  EXPECT_TRUE(parser.next());
  const Bytes longer = encode_frame(0, Bytes(kFrameLimitBeforeAuthentication - 5));
  parser.append(std::span(longer).first(4));
  EXPECT_THROW(static_cast<void>(parser.next()), ProtocolError);
}

TEST(Frames, AnotherVersionIsNamed) {
  FrameParser parser;
  Bytes bytes = encode(Joined{});
  bytes[4] = std::byte{9};
  parser.append(bytes);
  try {
    static_cast<void>(parser.next());
    FAIL() << "accepted";
  } catch (const ProtocolError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("protocol version 9: expected 1"));
  }
}

TEST(Frames, ShortLongAndUnknownBodiesAreRefused) {
  for (const Message& message : one_of_each()) {
    const auto kind = static_cast<std::uint8_t>(message.index());
    const Bytes bytes = encode(message);
    const Bytes body(bytes.begin() + 6, bytes.end());
    for (std::size_t n = 0; n<body.size(); n += body.size()> 100 ? 7 : 1) {
      EXPECT_THROW(static_cast<void>(decode(
                       {kind, Bytes(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(n))})),
                   ProtocolError);
    }
    Bytes more = body;
    more.push_back(std::byte{0});
    EXPECT_THROW(static_cast<void>(decode({kind, more})), ProtocolError);
  }
  EXPECT_THROW(static_cast<void>(decode({200, {}})), ProtocolError);
}

TEST(Frames, WhatIsTooLargeToSendIsRefused) {
  EXPECT_THROW(static_cast<void>(encode(Set{1, "key", std::string(kFrameLimit, 'x')})),
               ProtocolError);
}

// What a fuzzer would call: nothing but frames and ProtocolError may come out.
std::size_t consume(std::span<const std::byte> bytes, std::size_t limit) {
  std::size_t messages = 0;
  FrameParser parser;
  parser.set_limit(limit);
  try {
    parser.append(bytes);
    while (const auto frame = parser.next()) {
      static_cast<void>(decode(*frame));
      ++messages;
    }
  } catch (const ProtocolError&) {
  }
  return messages;
}

TEST(Frames, RandomBytesNeverCrash) {
  std::mt19937_64 random(1);
  std::size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    // Half of them get past the prefix.
    if (round % 2 == 0 && bytes.size() > 6) {
      bytes[0] = bytes[1] = bytes[2] = std::byte{0};
      bytes[3] = static_cast<std::byte>(bytes.size() - 4);
      bytes[4] = std::byte{kVersion};
      bytes[5] = static_cast<std::byte>(random() % 16);
    }
    accepted += consume(bytes, kFrameLimitBeforeAuthentication);
  }
  EXPECT_LT(accepted, 20'000U);
}

TEST(Frames, MutatedMessagesNeverCrash) {
  std::mt19937_64 random(2);
  const auto messages = one_of_each();
  for (int round = 0; round < 40'000; ++round) {
    Bytes bytes = encode(messages[random() % messages.size()]);
    for (std::uint64_t n = random() % 4; n-- > 0;) {
      const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
      switch (random() % 3) {
        case 0:
          bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(random());
          break;
        case 1:
          bytes.insert(bytes.begin() + at, static_cast<std::byte>(random()));
          break;
        default:
          if (bytes.size() > 1) bytes.erase(bytes.begin() + at);
      }
    }
    EXPECT_LE(consume(bytes, kFrameLimit), bytes.size());
  }
}

}  // namespace
}  // namespace lockstep::collectives::rendezvous
