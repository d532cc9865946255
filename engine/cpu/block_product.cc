#include "engine/cpu/block_product.h"

#include <algorithm>

#include "engine/cpu/avx512.h"
#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {
namespace {

// One row by Lanes columns, which GCC keeps in registers where it is told not to unroll.
template <int Lanes>
[[gnu::always_inline]] inline void multiply_lanes(const BlockProduct& p, std::int64_t i,
                                                  std::int64_t j) {
  float* c = p.c + i * p.c_row + j;
  float sums[Lanes];
  for (int l = 0; l < Lanes; ++l) sums[l] = p.into == Into::added ? c[l] : 0.0F;
  for (std::int64_t k = 0; k < p.depth; ++k) {
    const float a = p.a[i * p.a_row + k * p.a_step];
    const float* b = p.b + k * p.b_row + j;
#pragma GCC unroll 1
    for (int l = 0; l < Lanes; ++l) sums[l] += a * b[l];
  }
  for (int l = 0; l < Lanes; ++l) c[l] = sums[l];
}

LOCKSTEP_MULTIVERSION void multiply_plain(const BlockProduct& p) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    std::int64_t j = 0;
    for (; j + 2 * kTileColumns <= p.columns; j += 2 * kTileColumns) {
      multiply_lanes<2 * kTileColumns>(p, i, j);
    }
    for (; j < p.columns; j += kTileColumns) multiply_lanes<kTileColumns>(p, i, j);
  }
}

void transpose_plain(const Block& block, float* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < block.columns; ++c) {
    for (std::int64_t r = 0; r < to_stride; ++r) {
      to[c * to_stride + r] = r < block.rows ? block.from[r * block.stride + c] : 0.0F;
    }
  }
}

}  // namespace

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace {

// Eight rows by Vectors registers of columns.
template <int Vectors>
void multiply_tile(const BlockProduct& p, const float* a, const float* b, float* c) {
  __m512 sums[kTileRows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] =
          p.into == Into::added ? _mm512_loadu_ps(c + r * p.c_row + 16 * v) : _mm512_setzero_ps();
    }
  }
  const std::int64_t row = p.a_row;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += p.b_row) {
    __m512 columns[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) columns[v] = _mm512_loadu_ps(b + 16 * v);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const __m512 value = _mm512_set1_ps(a[r * row]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm512_fmadd_ps(value, columns[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_ps(c + r * p.c_row + 16 * v, sums[r][v]);
  }
}

void multiply_avx512(const BlockProduct& p) {
  for (std::int64_t i = 0; i < p.rows; i += kTileRows) {
    const float* a = p.a + i * p.a_row;
    float* c = p.c + i * p.c_row;
    std::int64_t j = 0;
    for (; j + 2 * kTileColumns <= p.columns; j += 2 * kTileColumns) {
      multiply_tile<2>(p, a, p.b + j, c + j);
    }
    if (j < p.columns) multiply_tile<1>(p, a, p.b + j, c + j);
  }
}

void transpose_avx512(const Block& block, float* to, std::int64_t to_stride) {
  for (std::int64_t r = 0; r < to_stride; r += 16) {
    for (std::int64_t c = 0; c < block.columns; c += 16) {
      const avx512::Block part{.rows = block.rows - r,
                               .columns = std::min<std::int64_t>(16, block.columns - c),
                               .from_stride = block.stride,
                               .to_stride = to_stride};
      avx512::transpose_block(block.from + r * block.stride + c, to + c * to_stride + r, part,
                              avx512::first_lanes(16));
    }
  }
}

}  // namespace
LOCKSTEP_AVX512_END
#endif

void multiply([[maybe_unused]] Isa isa, const BlockProduct& product) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return multiply_avx512(product);
#endif
  multiply_plain(product);
}

void transpose_block([[maybe_unused]] Isa isa, const Block& block, float* to,
                     std::int64_t to_stride) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return transpose_avx512(block, to, to_stride);
#endif
  transpose_plain(block, to, to_stride);
}

}  // namespace lockstep::engine::cpu
