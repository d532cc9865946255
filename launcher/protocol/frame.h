// Frames: how messages are cut out of a stream of bytes.
//
// A frame is 4 bytes of length (little endian) and that many bytes of body. A body is never empty
// and never longer than kLongestFrame: a start message holds an environment, which the kernel
// limits to a few MiB; everything else is far shorter.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::launcher {

inline constexpr std::size_t kLongestFrame = std::size_t{16} << 20;

// The peer does not speak this protocol, or not this version of it.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The bytes of a frame. Throws ProtocolError where the body is empty or too long.
[[nodiscard]] std::string frame(std::string_view body);

// Holds at most one frame more than it was given. Thread rule: one thread.
class FrameParser {
 public:
  void add(std::string_view bytes);

  // The body of the next whole frame, if there is one. Throws ProtocolError at a length that no
  // frame has; the parser is of no use after that.
  [[nodiscard]] std::optional<std::string> next();

 private:
  std::string buffer_;
  std::size_t read_ = 0;  // bytes of buffer_ that were given out
};

}  // namespace lockstep::launcher
