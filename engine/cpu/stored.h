// Activations in the type they are stored in, f32 or bf16, read and written as float, up to
// sixteen elements at a time. For loops inside functions with LOCKSTEP_MULTIVERSION.
//
// Vectors are handed over by reference: by value they would have another ABI in each version.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "engine/bfloat16.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kVector = 16;
using Floats [[gnu::vector_size(kVector * sizeof(float))]] = float;
using Integers [[gnu::vector_size(kVector * sizeof(std::int32_t))]] = std::int32_t;

// Where an operand lies; no address: an optional one that is not there.
template <class Byte>
struct Stored {
  Byte* data = nullptr;
  bool low = false;  // bf16, else f32
  [[nodiscard]] bool present() const { return data != nullptr; }
};
using StoredInput = Stored<const std::byte>;
using StoredOutput = Stored<std::byte>;

[[nodiscard]] inline StoredInput stored_input(const Binding& b, std::size_t i) {
  if (b.inputs.at(i) == nullptr) return {};
  return {b.inputs[i], b.input(i).dtype == DType::bf16};
}
[[nodiscard]] inline StoredOutput stored_output(const Binding& b, std::size_t i) {
  if (i >= b.outputs.size()) return {};
  return {b.outputs[i], b.output(i).dtype == DType::bf16};
}

// What is known of the types when a loop is compiled: all operands have one, or each its own.
enum class Storage { f32, bf16, mixed };

// REQUIRES: at least one of `low` is that of an operand that is there.
[[nodiscard]] inline Storage storage_of(std::initializer_list<Stored<const std::byte>> operands) {
  bool any_f32 = false, any_low = false;
  for (const StoredInput& operand : operands) {
    if (!operand.present()) continue;
    (operand.low ? any_low : any_f32) = true;
  }
  return any_f32 && any_low ? Storage::mixed : any_low ? Storage::bf16 : Storage::f32;
}
[[nodiscard]] inline StoredInput as_input(const StoredOutput& output) {
  return {output.data, output.low};
}

template <Storage S, class Byte>
[[gnu::always_inline]] inline bool is_low(const Stored<Byte>& operand) {
  return S == Storage::bf16 || (S == Storage::mixed && operand.low);
}

namespace stored {
using HalfWords [[gnu::vector_size(kVector * sizeof(BFloat16))]] = std::uint16_t;
using Words [[gnu::vector_size(kVector * sizeof(std::uint32_t))]] = std::uint32_t;
}  // namespace stored

// Elements `at` to at + count, the rest 0. REQUIRES: 1 <= count <= kVector.
template <Storage S>
[[gnu::always_inline]] inline void load(const StoredInput& from, std::int64_t at,
                                        std::int64_t count, Floats& to) {
  const auto elements = static_cast<std::size_t>(count);
  if (is_low<S>(from)) {
    stored::HalfWords halves{};
    std::memcpy(&halves, from.data + at * 2, elements * 2);
    const stored::Words words = __builtin_convertvector(halves, stored::Words) << 16;
    std::memcpy(&to, &words, sizeof to);
  } else {
    to = Floats{};
    std::memcpy(&to, from.data + at * 4, elements * 4);
  }
}

// As load, rounded as to_bfloat16 rounds.
template <Storage S>
[[gnu::always_inline]] inline void save(const Floats& values, std::int64_t count,
                                        const StoredOutput& to, std::int64_t at) {
  const auto elements = static_cast<std::size_t>(count);
  if (is_low<S>(to)) {
    stored::Words words;
    std::memcpy(&words, &values, sizeof words);
    const stored::Words rounded = words + 0x7FFFU + ((words >> 16) & 1U);
    const stored::Words quiet = words | 0x00400000U;
    const auto is_nan = (words & 0x7FFFFFFFU) > 0x7F800000U;
    const stored::HalfWords halves =
        __builtin_convertvector((is_nan ? quiet : rounded) >> 16, stored::HalfWords);
    std::memcpy(to.data + at * 2, &halves, elements * 2);
  } else {
    std::memcpy(to.data + at * 4, &values, elements * 4);
  }
}

// Sixteen of a table of floats that is padded to whole vectors.
[[gnu::always_inline]] inline void read(const float* from, Floats& to) {
  std::memcpy(&to, from, sizeof to);
}

// Calls work(first channel, count) for the vectors of a pixel's channels. The count of all but the
// last is known when this is compiled, else each load would be a call.
template <class Work>
[[gnu::always_inline]] inline void for_vectors(std::int64_t channels, const Work& work) {
  std::int64_t c = 0;
  for (; c + kVector <= channels; c += kVector) work(c, kVector);
  if (c < channels) work(c, channels - c);
}

// A count of elements in whole vectors.
[[nodiscard]] constexpr std::int64_t in_vectors(std::int64_t elements) {
  return (elements + kVector - 1) / kVector * kVector;
}

}  // namespace lockstep::engine::cpu
