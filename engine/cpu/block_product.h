// Products of blocks of floats that lie in the first-level cache, and blocks transposed for them.
#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kTileRows = 8;
inline constexpr std::int64_t kTileColumns = 16;

enum class Into { fresh, added };

// c[i, j] = (c[i, j] +) sum over k of a[i, k] * b[k, j].
// REQUIRES: rows and columns are multiples of kTileRows and kTileColumns.
// Cost with AVX-512: one fused multiply-add a 16 products, two a cycle.
struct BlockProduct {
  const float* a;  // element (i, k) is a[i * a_row + k * a_step]
  std::int64_t a_row, a_step;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  std::int64_t rows, columns, depth;
  Into into;
};
void multiply(Isa isa, const BlockProduct& product);

// A block of `rows` by `columns` whose rows begin `stride` apart.
struct Block {
  const float* from;
  std::int64_t stride, rows, columns;
};
// to[c * to_stride + r] = from[r * stride + c] for r up to to_stride; 0 where r is not below rows.
// REQUIRES: to_stride is a multiple of 16.
void transpose_block(Isa isa, const Block& block, float* to, std::int64_t to_stride);

}  // namespace lockstep::engine::cpu
