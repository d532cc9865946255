// Frames: how messages lie on a connection to the store.
//
//   4 bytes   length of what follows, big-endian
//   1 byte    version of the protocol (kVersion)
//   1 byte    kind of the message
//   n bytes   body
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::collectives::rendezvous {

using Bytes = std::vector<std::byte>;

inline constexpr std::uint8_t kVersion = 1;
// Longest frames, prefix included. Before the other side has shown that it knows the secret it may
// not make us keep more than a handshake needs.
inline constexpr std::size_t kFrameLimitBeforeAuthentication = 256;
inline constexpr std::size_t kFrameLimit = std::size_t{1} << 20;

// What came over the connection is not our protocol.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Frame {
  std::uint8_t kind = 0;
  Bytes body;
};

[[nodiscard]] Bytes encode_frame(std::uint8_t kind, std::span<const std::byte> body);

// Cuts a stream of bytes into frames. Keeps at most one incomplete frame.
class FrameParser {
 public:
  void set_limit(std::size_t limit) { limit_ = limit; }

  void append(std::span<const std::byte> bytes);

  // The next complete frame. Errors: ProtocolError, after which the connection is of no use.
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::size_t limit_ = kFrameLimitBeforeAuthentication;
  Bytes pending_;
  std::size_t begin_ = 0;
};

}  // namespace lockstep::collectives::rendezvous
