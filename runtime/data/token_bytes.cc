#include "runtime/data/token_bytes.h"

namespace lockstep::runtime::data {
namespace {

// The width as a constant, so that the inner loop is unrolled.
template <std::size_t kWidth>
void widen_from(const std::byte* bytes, std::span<std::int32_t> tokens) {
  for (std::int32_t& token : tokens) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
    }
    token = static_cast<std::int32_t>(value);
    bytes += kWidth;
  }
}

}  // namespace

void widen(std::span<const std::byte> bytes, std::size_t width, std::span<std::int32_t> tokens) {
  if (width == 1) return widen_from<1>(bytes.data(), tokens);
  if (width == 2) return widen_from<2>(bytes.data(), tokens);
  widen_from<4>(bytes.data(), tokens);
}

void narrow(std::uint32_t value, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(value >> (8 * i));
}

}  // namespace lockstep::runtime::data
