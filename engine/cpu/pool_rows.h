// Hand-written rows of max pooling, for windows of 2x2 with stride 2.
#pragma once

#include "engine/cpu/kernels.h"
#include "engine/cpu/pool_shape.h"

namespace lockstep::engine::cpu {

// Pools one row of windows: x points to the row's first pixel.
using PoolRow = void (*)(const PoolShape& shape, const float* x, float* y, std::uint8_t* index);
// Spreads one row of gradients over the two rows of dx below it, every element of them.
using PoolBackwardRow = void (*)(const PoolShape& shape, const float* dy, const std::uint8_t* index,
                                 float* dx);

// Null where there is none for the shape.
[[nodiscard]] PoolRow pool_row(Isa isa, const PoolShape& shape);
[[nodiscard]] PoolBackwardRow pool_backward_row(Isa isa, const PoolShape& shape);

}  // namespace lockstep::engine::cpu
