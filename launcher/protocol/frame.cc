#include "launcher/protocol/frame.h"

#include <fmt/format.h>

#include <cstdint>

namespace lockstep::launcher {
namespace {

constexpr std::size_t kHeader = 4;

void check_length(std::size_t length) {
  if (length == 0 || length > kLongestFrame) {
    throw ProtocolError(fmt::format(
        "a control frame of {} bytes where 1 to {} were expected: the other side is not a "
        "lockstep of this version, or something else wrote into the channel",
        length, kLongestFrame));
  }
}

}  // namespace

std::string frame(std::string_view body) {
  check_length(body.size());
  std::string bytes;
  bytes.reserve(kHeader + body.size());
  for (std::size_t i = 0; i < kHeader; ++i) {
    bytes.push_back(static_cast<char>(body.size() >> (8 * i) & 0xff));
  }
  bytes.append(body);
  return bytes;
}

void FrameParser::add(std::string_view bytes) {
  // Moves the rest to the front only when it is the smaller part, so that every byte moves once.
  if (read_ > buffer_.size() / 2) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<std::string> FrameParser::next() {
  const std::string_view rest = std::string_view(buffer_).substr(read_);
  if (rest.size() < kHeader) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i) {
    length |= static_cast<std::size_t>(static_cast<std::uint8_t>(rest[i])) << (8 * i);
  }
  check_length(length);
  if (rest.size() < kHeader + length) return std::nullopt;
  read_ += kHeader + length;
  return std::string(rest.substr(kHeader, length));
}

}  // namespace lockstep::launcher
