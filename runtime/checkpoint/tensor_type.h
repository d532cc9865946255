// Element types as the safetensors format names them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/dtype.h"

namespace lockstep::runtime::checkpoint {

// The element types that the format knows, in its own order, the smallest first.
enum class TensorType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

// As in the file: "F32", "BF16".
[[nodiscard]] std::string_view name_of(TensorType type);
[[nodiscard]] unsigned bits_of(TensorType type);

[[nodiscard]] TensorType tensor_type(engine::DType type);
// Nothing for a type that the engine does not compute with.
[[nodiscard]] std::optional<engine::DType> engine_type(TensorType type);
[[nodiscard]] std::optional<TensorType> tensor_type_named(std::string_view name);

// Bytes of a tensor; nothing if an extent is negative, the product overflows, or it is no whole
// number of bytes.
[[nodiscard]] std::optional<std::uint64_t> byte_count(TensorType type,
                                                      std::span<const std::int64_t> shape);

// "F32 [2, 3]", as errors say it.
[[nodiscard]] std::string text_of(TensorType type, std::span<const std::int64_t> shape);

}  // namespace lockstep::runtime::checkpoint
