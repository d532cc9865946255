// The control channel's bytes: frames, messages, and the order in which an agent sends.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "launcher/agent/line_splitter.h"
#include "launcher/agent/outbound.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {
namespace {

HostJob some_job() {
  HostJob job;
  job.file = "/usr/bin/env";
  job.args = {"env", "", "a b", std::string("nul\0byte", 8), "new\nline", "\xff\xfe"};
  job.environment = {"A=b", "EMPTY=", "=odd", "no-equals"};
  job.world = 70'000;
  job.master_port = 65'535;
  job.secret = std::string("\0\1\2", 3);
  job.lead_output = LeadOutput::kAtOnce;
  job.program = Program::kLockstep;
  return job;
}

std::vector<Message> one_of_each() {
  return {Ready{"0.1.0", "host", 1234567890123, {{"10.0.0.1", "eth0"}, {"fd00::1", "eno1"}}},
          Surveyed{1, 4242},
          Reached{1, {"10.0.0.1"}, {"eth0"}},
          Prepared{2, 65'535, 1, "no"},
          Tuned{15, 2, "because"},
          Started{3, 77},
          NotStarted{1, "no such file"},
          Output{2, Stream::kErr, "text\n"},
          Ended{5, -1, -3, 11},
          Note{"a note"},
          Gone{3},
          Drained{4},
          Pong{1ULL << 60, -5},
          Progress{5, 1ULL << 40},
          Survey{1, "token"},
          Reach{1, {"10.0.0.1", "fd00::1"}, 4242, "token"},
          Prepare{2, 70'000, "10.0.0.1", std::string("\0\1", 2)},
          Start{some_job()},
          Credit{1 << 20},
          Stop{7, 1500},
          Kill{},
          Ping{1ULL << 60},
          Notice{10},
          Pause{},
          Resume{},
          Dismiss{}};
}

TEST(Frame, ArrivesWholeHoweverTheStreamIsCut) {
  std::string stream;
  const std::vector<std::string> bodies{"a", std::string(100'000, 'x'), "last"};
  for (const std::string& body : bodies) stream += frame(body);
  for (const std::size_t step : {1UL, 3UL, 4'096UL, stream.size()}) {
    FrameParser parser;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      parser.add(std::string_view(stream).substr(at, step));
      while (auto body = parser.next()) seen.push_back(*body);
    }
    EXPECT_EQ(seen, bodies) << "in steps of " << step;
  }
}

TEST(Frame, EmptyAndEndlessOnesAreRefused) {
  FrameParser empty, endless;
  empty.add(std::string(4, '\0'));
  EXPECT_THROW((void)empty.next(), ProtocolError);
  endless.add("\xff\xff\xff\xff");
  EXPECT_THROW((void)endless.next(), ProtocolError);
  EXPECT_THROW((void)frame(""), ProtocolError);
}

TEST(Message, EveryKindComesBackAsItWasSent) {
  std::vector<Message> messages = one_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (std::size_t kind = 0; kind < messages.size(); ++kind) {
    ASSERT_EQ(messages[kind].index(), kind);
    const Message back = decode(encode(messages[kind]));
    EXPECT_EQ(back.index(), kind);
    EXPECT_EQ(encode(back), encode(messages[kind])) << "kind " << kind;
  }
  const Message back = decode(encode(Start{some_job()}));
  const HostJob& job = std::get<Start>(back).job;
  EXPECT_EQ(job.args, some_job().args);
  EXPECT_EQ(job.environment, some_job().environment);
  EXPECT_EQ(job.secret, some_job().secret);
  const Message ended = decode(encode(Ended{5, -1, -3, 11}));
  EXPECT_EQ(std::get<Ended>(ended).time_ns, -1);
  EXPECT_EQ(std::get<Ended>(ended).code, -3);
}

TEST(Message, CutOrLengthenedOnesAreRefused) {
  for (const Message& message : one_of_each()) {
    const std::string body = encode(message);
    for (std::size_t length = 0; length < body.size(); ++length) {
      EXPECT_THROW((void)decode(body.substr(0, length)), ProtocolError)
          << "kind " << message.index() << " cut to " << length;
    }
    EXPECT_THROW((void)decode(body + "x"), ProtocolError);
  }
}

TEST(Message, RandomBytesNeverDoMoreThanBeingRefused) {
  std::mt19937 random(20'240'101);
  const std::vector<Message> messages = one_of_each();
  int refused = 0, accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string stream = frame(encode(messages[random() % messages.size()]));
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t i = 0; i < changes; ++i) {
      stream[random() % stream.size()] = static_cast<char>(random() & 0xff);
    }
    FrameParser parser;
    parser.add(stream);
    try {
      while (const auto body = parser.next()) (void)decode(*body);
      ++accepted;
    } catch (const ProtocolError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1'000);
  EXPECT_GT(accepted, 100);
}

// The frames that can be sent now, in order.
std::vector<Message> sent(Outbound& outbound) {
  FrameParser parser;
  std::vector<Message> messages;
  while (!outbound.next().empty()) {
    const std::string_view bytes = outbound.next();
    const std::size_t part = std::min<std::size_t>(bytes.size(), 1'000);
    parser.add(bytes.substr(0, part));
    outbound.wrote(part);
    while (const auto body = parser.next()) messages.push_back(decode(*body));
  }
  return messages;
}

TEST(Outbound, ControlPassesOutputThatWaitsForCredit) {
  Outbound outbound;
  const std::size_t piece = 64 << 10;
  const std::size_t window = kOutputWindow / piece;
  for (std::size_t i = 0; i < 3 * window; ++i) {
    outbound.add_output({0, Stream::kOut, std::string(piece, 'x')});
  }
  EXPECT_TRUE(outbound.backed_up());
  EXPECT_EQ(sent(outbound).size(), window);
  outbound.send(Ended{1, 0, 7, 0});
  const std::vector<Message> control = sent(outbound);
  ASSERT_EQ(control.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Ended>(control[0]));
  outbound.add_credit(kOutputWindow);
  EXPECT_EQ(sent(outbound).size(), window);
  EXPECT_TRUE(outbound.has_output());
  outbound.discard_output();
  EXPECT_FALSE(outbound.has_output());
  EXPECT_FALSE(outbound.backed_up());
}

TEST(Lines, AreWholeHoweverTheyWereWritten) {
  const std::string text = "one\n\ntwo\r\nthree";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineSplitter splitter;
    std::string seen;
    for (std::size_t at = 0; at < text.size(); at += step) {
      const std::string lines = splitter.add(std::string_view(text).substr(at, step));
      EXPECT_TRUE(lines.empty() || lines.back() == '\n');
      seen += lines;
    }
    EXPECT_EQ(seen, "one\n\ntwo\r\n");
    EXPECT_EQ(splitter.finish(), "three\n");
    EXPECT_EQ(splitter.finish(), "");
  }
}

TEST(Lines, LongOnesAreCutAndNoByteIsLost) {
  for (const std::size_t length :
       {kLongestLine - 1, kLongestLine, kLongestLine + 1, 3 * kLongestLine, 3 * kLongestLine + 5}) {
    for (const std::size_t step : {1'000UL, kLongestLine, 10 * kLongestLine}) {
      LineSplitter splitter;
      const std::string text = std::string(length, 'x') + "\nend\n";
      std::string seen;
      for (std::size_t at = 0; at < text.size(); at += step) {
        seen += splitter.add(std::string_view(text).substr(at, step));
      }
      EXPECT_EQ(std::ranges::count(seen, 'x'), static_cast<std::ptrdiff_t>(length));
      EXPECT_TRUE(seen.ends_with("\nend\n"));
      const auto pieces = static_cast<std::size_t>(std::ranges::count(seen, '\n')) - 1;
      EXPECT_EQ(pieces, (length + kLongestLine - 1) / kLongestLine) << length << " by " << step;
    }
  }
}

}  // namespace
}  // namespace lockstep::launcher
