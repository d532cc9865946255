// From one stored type to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/dtype.h"

namespace lockstep::engine::cpu {

// An array of f32 or bf16.
struct StoredArray {
  std::byte* data = nullptr;
  DType type = DType::f32;
};

// Elements of `from` into `to`; a copy where the types are the same. REQUIRES: the arrays do not
// overlap.
// Cost: one pass at the memory's speed.
void convert(int threads, const StoredArray& from, const StoredArray& to, std::int64_t count);

}  // namespace lockstep::engine::cpu
