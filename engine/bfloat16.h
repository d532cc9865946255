// The upper half of a float: 8 bits of exponent, 7 of mantissa. Values are stored in it and
// computed in float.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep::engine {

struct BFloat16 {
  std::uint16_t bits = 0;
};

[[nodiscard]] inline float to_float(float value) {
  return value;
}
[[nodiscard]] inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// To the nearest, ties to even; a NaN stays one. Written without branches, so that loops over it
// are vectorised.
[[nodiscard]] inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return {static_cast<std::uint16_t>((is_nan ? (bits | 0x00400000U) : rounded) >> 16)};
}

inline void store(float value, float& to) {
  to = value;
}
inline void store(float value, BFloat16& to) {
  to = to_bfloat16(value);
}

}  // namespace lockstep::engine
