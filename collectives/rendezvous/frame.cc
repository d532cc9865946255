#include "collectives/rendezvous/frame.h"

#include <fmt/format.h>

namespace lockstep::collectives::rendezvous {
namespace {

constexpr std::size_t kPrefix = 4;
constexpr std::size_t kHeader = 2;

}  // namespace

Bytes encode_frame(std::uint8_t kind, std::span<const std::byte> body) {
  const auto length = static_cast<std::uint32_t>(kHeader + body.size());
  Bytes frame;
  frame.reserve(kPrefix + length);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<std::byte>(length >> shift & 0xff));
  }
  frame.push_back(std::byte{kVersion});
  frame.push_back(std::byte{kind});
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

void FrameParser::append(std::span<const std::byte> bytes) {
  if (begin_ != 0) {
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> FrameParser::next() {
  const auto bytes = std::span<const std::byte>(pending_).subspan(begin_);
  if (bytes.size() < kPrefix) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kPrefix; ++i) {
    length = length << 8 | std::to_integer<std::size_t>(bytes[i]);
  }
  if (length < kHeader || length > limit_ - kPrefix) {
    throw ProtocolError(
        fmt::format("a frame of {} bytes: expected {} to {}", length, kHeader, limit_ - kPrefix));
  }
  if (bytes.size() > kPrefix) {
    const auto version = std::to_integer<unsigned>(bytes[kPrefix]);
    if (version != kVersion) {
      throw ProtocolError(
          fmt::format("protocol version {}: expected {}; are launcher and workers of one release?",
                      version, unsigned{kVersion}));
    }
  }
  if (bytes.size() < kPrefix + length) return std::nullopt;
  const auto body = bytes.subspan(kPrefix + kHeader, length - kHeader);
  begin_ += kPrefix + length;
  return Frame{std::to_integer<std::uint8_t>(bytes[kPrefix + 1]), Bytes(body.begin(), body.end())};
}

}  // namespace lockstep::collectives::rendezvous
