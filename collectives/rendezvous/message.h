// The messages between the store and a rank.
//
//   rank                                   store
//   Hello {nonce}                    ->
//                                    <-    Challenge {nonce}
//   Proof {of the rank}              ->
//                                    <-    Welcome {proof of the store}
//   Join {rank, world, ...}          ->
//                                    <-    Joined
//   Set, Get, Barrier {request}      ->
//                                    <-    Done | Value | Failed {request}, in any order
//   Leave {request}                  ->
//                                    <-    Done {request}
//   Abort {reason}                   ->
//                                    <-    Aborted {rank, reason}, at any time after Welcome
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "collectives/rendezvous/frame.h"

namespace lockstep::collectives::rendezvous {

using Nonce = std::array<std::byte, 32>;
using Digest = std::array<std::byte, 32>;
using RequestId = std::uint64_t;

struct Hello {
  Nonce nonce{};
};
struct Challenge {
  Nonce nonce{};
};
struct Proof {
  Digest digest{};
};
struct Welcome {
  Digest digest{};
};
struct Join {
  std::int32_t rank = 0;
  std::int32_t world = 0;
  std::uint64_t generation = 0;
  std::uint64_t pid = 0;
  std::string host;
};
struct Joined {};
struct Set {
  RequestId request = 0;
  std::string key;
  std::string value;
};
struct Get {
  RequestId request = 0;
  std::string key;
  std::chrono::milliseconds deadline{};
};
struct Barrier {
  RequestId request = 0;
  std::string name;
  std::chrono::milliseconds deadline{};
};
struct Leave {
  RequestId request = 0;
};
struct Abort {
  std::string reason;
};
struct Done {
  RequestId request = 0;
};
struct Value {
  RequestId request = 0;
  std::string value;
};
struct Failed {
  RequestId request = 0;  // 0: the join
  std::string reason;
};
struct Aborted {
  std::int32_t rank = -1;  // -1: the launcher itself
  std::string reason;
};

// The order is the kind's number on the wire: append only.
using Message = std::variant<Hello, Challenge, Proof, Welcome, Join, Joined, Set, Get, Barrier,
                             Leave, Abort, Done, Value, Failed, Aborted>;

// A frame ready to send. Texts that would not fit into kFrameLimit are refused with ProtocolError.
[[nodiscard]] Bytes encode(const Message& message);

// Errors: ProtocolError for an unknown kind, a body that is too short or has bytes left over.
[[nodiscard]] Message decode(const Frame& frame);

}  // namespace lockstep::collectives::rendezvous
