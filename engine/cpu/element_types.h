// Values that may be stored in f32 or in bf16, and are computed with as floats. Two ways:
// elementwise loops are templates over the stored types, which with_element_types() instantiates
// by the values' types; ops that work on whole rows read and write them through StoredFloats.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "engine/bfloat16.h"
#include "engine/error.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

// f.operator()<T...>(), with float or BFloat16 for each of `types`. Throws Error for other types.
template <class... Known, class F>
Kernel with_element_types(const F& f) {
  return f.template operator()<Known...>();
}
template <class... Known, class F, class... Rest>
Kernel with_element_types(const F& f, DType first, Rest... rest) {
  if (first == DType::bf16) return with_element_types<Known..., BFloat16>(f, rest...);
  if (first == DType::f32) return with_element_types<Known..., float>(f, rest...);
  throw Error(fmt::format("expected an operand stored in f32 or bf16, found {}", name_of(first)));
}

void widen(const BFloat16* from, float* to, std::int64_t count);
void narrow(const float* from, BFloat16* to, std::int64_t count);

// Elements of a value; null where an optional one is absent.
class StoredFloats {
 public:
  StoredFloats() = default;
  StoredFloats(std::byte* at, DType type) : at_(at), type_(type) {}
  [[nodiscard]] static StoredFloats input(const Binding& b, std::size_t i) {
    if (!b.node.inputs.at(i).valid()) return {};
    return {b.inputs.at(i), b.input(i).dtype};
  }
  [[nodiscard]] static StoredFloats output(const Binding& b, std::size_t i) {
    return {b.outputs.at(i), b.output(i).dtype};
  }

  [[nodiscard]] explicit operator bool() const { return at_ != nullptr; }

  [[nodiscard]] DType type() const { return type_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(at_);
  }

  // The elements from `first` on, as floats: where they lie, or converted into `room`.
  [[nodiscard]] const float* read(std::int64_t first, std::int64_t count, float* room) const {
    if (type_ == DType::f32) return as<float>() + first;
    widen(as<BFloat16>() + first, room, count);
    return room;
  }

  // Where to write elements from `first` on: their place, or `room`; written() then stores them.
  [[nodiscard]] float* place(std::int64_t first, float* room) const {
    return type_ == DType::f32 ? as<float>() + first : room;
  }
  void written(std::int64_t first, std::int64_t count, const float* from) const {
    if (type_ == DType::bf16) narrow(from, as<BFloat16>() + first, count);
  }

 private:
  std::byte* at_ = nullptr;
  DType type_ = DType::f32;
};

}  // namespace lockstep::engine::cpu
