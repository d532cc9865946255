#include "engine/cpu/transpose.h"

#include <algorithm>

namespace lockstep::engine::cpu {

void transpose(Isa, const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlock = 16;  // rows of a block stay in the first-level cache
  for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const std::int64_t r1 = std::min(rows, r0 + kBlock);
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = r0; r < r1; ++r) to[c * rows + r] = from[r * columns + c];
    }
  }
}

}  // namespace lockstep::engine::cpu
