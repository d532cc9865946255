#include "engine/cpu/transpose.h"

#include <algorithm>

#include "engine/cpu/avx512.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kBlock = 16;  // rows of a block stay in the first-level cache

void transpose_plain(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const std::int64_t r1 = std::min(rows, r0 + kBlock);
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = r0; r < r1; ++r) to[c * rows + r] = from[r * columns + c];
    }
  }
}

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
void transpose_avx512(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; r += kBlock) {
    for (std::int64_t c = 0; c < columns; c += kBlock) {
      const avx512::Block block{.rows = std::min(kBlock, rows - r),
                                .columns = std::min(kBlock, columns - c),
                                .from_stride = columns,
                                .to_stride = rows};
      avx512::transpose_block(from + r * columns + c, to + c * rows + r, block,
                              avx512::first_lanes(block.rows));
    }
  }
}
LOCKSTEP_AVX512_END
#endif

}  // namespace

void transpose(Isa isa, const float* from, float* to, std::int64_t rows, std::int64_t columns) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return transpose_avx512(from, to, rows, columns);
#endif
  transpose_plain(from, to, rows, columns);
}

}  // namespace lockstep::engine::cpu
