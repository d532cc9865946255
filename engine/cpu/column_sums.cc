#include "engine/cpu/column_sums.h"

#include "engine/bfloat16.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kColumns = 128;  // whose sums stay in the first-level cache

#define LOCKSTEP_COLUMN_SUMS(Type)                                                              \
  LOCKSTEP_MULTIVERSION void sums_of(const Type* x, std::int64_t rows, std::int64_t stride,     \
                                     std::int64_t columns, float* sums) {                       \
    double sum[kColumns] = {};                                                                  \
    for (std::int64_t r = 0; r < rows; ++r, x += stride) {                                      \
      for (std::int64_t c = 0; c < columns; ++c) sum[c] += static_cast<double>(to_float(x[c])); \
    }                                                                                           \
    for (std::int64_t c = 0; c < columns; ++c) sums[c] = static_cast<float>(sum[c]);            \
  }
// Function templates cannot be compiled for several machines.
LOCKSTEP_COLUMN_SUMS(float)
LOCKSTEP_COLUMN_SUMS(BFloat16)
#undef LOCKSTEP_COLUMN_SUMS

template <class T>
void sum_columns(int threads, const T* x, std::int64_t rows, std::int64_t columns, float* sums) {
  for_ranges(threads, columns, kColumns, [&](std::int64_t begin, std::int64_t end) {
    sums_of(x + begin, rows, columns, end - begin, sums + begin);
  });
}

}  // namespace

void column_sums(int threads, const std::byte* x, DType type, std::int64_t rows,
                 std::int64_t columns, float* sums) {
  if (type == DType::bf16) {
    sum_columns(threads, reinterpret_cast<const BFloat16*>(x), rows, columns, sums);
  } else {
    sum_columns(threads, reinterpret_cast<const float*>(x), rows, columns, sums);
  }
}

}  // namespace lockstep::engine::cpu
