// Element types of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep::engine {

enum class DType : std::uint8_t { f32, f64, bf16, i32, i64, u8 };

// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 2;
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  return 0;
}

[[nodiscard]] constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "?";
}

}  // namespace lockstep::engine
