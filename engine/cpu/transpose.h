// Transposes of plain matrices.
#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

namespace lockstep::engine::cpu {

// to[columns, rows] = from[rows, columns] transposed. The two do not overlap.
void transpose(Isa isa, const float* from, float* to, std::int64_t rows, std::int64_t columns);

}  // namespace lockstep::engine::cpu
