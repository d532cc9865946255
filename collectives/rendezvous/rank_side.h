// A rank's side of the connection to the store, as a state machine: bytes in, bytes and answers
// out.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/rendezvous/frame.h"
#include "collectives/rendezvous/message.h"
#include "collectives/rendezvous/secret.h"

namespace lockstep::collectives::rendezvous {

class RankSide {
 public:
  struct Identity {
    Secret secret{};
    Join join;
  };
  // `nonce`: 32 bytes that were never used before.
  RankSide(Identity identity, const Nonce& nonce);

  // The first bytes to send.
  [[nodiscard]] Bytes begin() const;

  struct Received {
    Bytes reply;                    // to be sent; may be empty
    std::vector<Message> messages;  // Joined, Done, Value, Failed, Aborted
  };
  // Errors: ProtocolError; SecretError where the other side does not know the secret.
  [[nodiscard]] Received received(std::span<const std::byte> bytes);

  // Whether both sides have shown that they know the secret.
  [[nodiscard]] bool authenticated() const { return stage_ == Stage::open; }

 private:
  enum class Stage { challenge, welcome, open };

  Identity identity_;
  Nonce of_rank_;
  Nonce of_store_{};
  Stage stage_ = Stage::challenge;
  FrameParser parser_;
};

}  // namespace lockstep::collectives::rendezvous
