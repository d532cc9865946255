// Gradients of biases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/dtype.h"

namespace lockstep::engine::cpu {

// sums[c] = sum over rows of x[rows, columns], f32 or bf16, in double precision and in order; the
// bits do not depend on the number of threads. Cost: one pass at the memory's speed.
void column_sums(int threads, const std::byte* x, DType type, std::int64_t rows,
                 std::int64_t columns, float* sums);

}  // namespace lockstep::engine::cpu
