#include "runtime/checkpoint/tensor_type.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace lockstep::runtime::checkpoint {
namespace {

struct TypeFacts {
  std::string_view name;
  unsigned bits;
};

// In the order of TensorType.
constexpr std::array<TypeFacts, 22> kTypes{
    {{"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
     {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
     {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
     {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
     {"I64", 64},        {"U64", 64}}};

}  // namespace

std::string_view name_of(TensorType type) {
  return kTypes.at(static_cast<std::size_t>(type)).name;
}

unsigned bits_of(TensorType type) {
  return kTypes.at(static_cast<std::size_t>(type)).bits;
}

TensorType tensor_type(engine::DType type) {
  switch (type) {
    case engine::DType::f32:
      return TensorType::f32;
    case engine::DType::f64:
      return TensorType::f64;
    case engine::DType::bf16:
      return TensorType::bf16;
    case engine::DType::i32:
      return TensorType::i32;
    case engine::DType::i64:
      return TensorType::i64;
    case engine::DType::u8:
      return TensorType::u8;
  }
  throw std::logic_error("an engine type has no name in the safetensors format");
}

std::optional<engine::DType> engine_type(TensorType type) {
  switch (type) {
    case TensorType::f32:
      return engine::DType::f32;
    case TensorType::f64:
      return engine::DType::f64;
    case TensorType::bf16:
      return engine::DType::bf16;
    case TensorType::i32:
      return engine::DType::i32;
    case TensorType::i64:
      return engine::DType::i64;
    case TensorType::u8:
      return engine::DType::u8;
    default:
      return std::nullopt;
  }
}

std::optional<TensorType> tensor_type_named(std::string_view name) {
  for (std::size_t index = 0; index < kTypes.size(); ++index) {
    if (kTypes[index].name == name) return static_cast<TensorType>(index);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> byte_count(TensorType type, std::span<const std::int64_t> shape) {
  std::uint64_t bits = bits_of(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bits, static_cast<std::uint64_t>(extent), &bits)) {
      return std::nullopt;
    }
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

std::string text_of(TensorType type, std::span<const std::int64_t> shape) {
  std::string extents;
  for (const std::int64_t extent : shape) {
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  }
  return fmt::format("{} [{}]", name_of(type), extents);
}

}  // namespace lockstep::runtime::checkpoint
