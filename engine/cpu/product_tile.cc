#include <utility>

#include "engine/bfloat16.h"
#include "engine/cpu/avx512.h"
#include "engine/cpu/product_panels.h"

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace lockstep::engine::cpu {
namespace {

using avx512::first_lanes;
using avx512::kLanes;

struct Columns {
  __mmask16 low, high;
};

template <int Rows>
using Sums = __m512[Rows][2];

template <Stored Form, int Rows>
[[gnu::always_inline]] inline void add_products(const ProductTile& t, Sums<Rows>& sums) {
  constexpr std::int64_t kRowStep = Form == Stored::as_is ? kStripRow : 1;
  constexpr std::int64_t kStep = Form == Stored::as_is ? 1 : kTileRows;
  const float* a = t.strip;
  const float* b = t.panel;
  const char* ahead = reinterpret_cast<const char*>(t.ahead);
  for (std::int64_t k = t.passed; k > 0; --k) {
    // The panel comes from the second-level cache.
    _mm_prefetch(reinterpret_cast<const char*>(b + 16 * kTileColumns), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(b + 16 * kTileColumns + kLanes), _MM_HINT_T0);
    _mm_prefetch(ahead, _MM_HINT_T1);
    ahead += t.ahead_step;
    const __m512 low = _mm512_loadu_ps(b), high = _mm512_loadu_ps(b + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const __m512 x = _mm512_set1_ps(a[r * kRowStep]);
      sums[r][0] = _mm512_fmadd_ps(x, low, sums[r][0]);
      sums[r][1] = _mm512_fmadd_ps(x, high, sums[r][1]);
    }
    a += kStep;
    b += kTileColumns;
  }
}

inline void store(float* to, __mmask16 lanes, __m512 value) {
  _mm512_mask_storeu_ps(to, lanes, value);
}
// As to_bfloat16().
inline void store(BFloat16* to, __mmask16 lanes, __m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i kept = _mm512_mask_blend_epi32(is_nan, rounded, quiet);
  _mm256_mask_storeu_epi16(to, lanes, _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16)));
}

template <class T, int Rows>
[[gnu::always_inline]] inline void write(const MatrixProduct& p, const ProductTile& t,
                                         const Columns& columns, Sums<Rows>& sums) {
  __m512 bias[2] = {};
  if (p.bias) {
    bias[0] = _mm512_maskz_loadu_ps(columns.low, p.bias + t.y_column);
    bias[1] = _mm512_maskz_loadu_ps(columns.high, p.bias + t.y_column + kLanes);
  }
  const __m512 zero = _mm512_setzero_ps();
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    T* to = reinterpret_cast<T*>(p.y.row(t.y_row + r)) + t.y_column;
    __m512 low = _mm512_add_ps(sums[r][0], bias[0]), high = _mm512_add_ps(sums[r][1], bias[1]);
    if (p.activation == Activation::relu) {  // max() gives its second operand where one is a NaN
      low = _mm512_max_ps(zero, low);
      high = _mm512_max_ps(zero, high);
    }
    store(to, columns.low, low);
    store(to + kLanes, columns.high, high);
  }
}

// Lines of y are on their way while products are summed.
template <int Rows>
[[gnu::always_inline]] inline void prefetch_rows(const MatrixProduct& p, const ProductTile& t) {
  const std::int64_t size = p.y.type == DType::bf16 ? 2 : 4;
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    const std::byte* row = p.y.row(t.y_row + r) + t.y_column * size;
    __builtin_prefetch(row, 1);
    if (t.columns > kLanes) __builtin_prefetch(row + kLanes * size, 1);
  }
}

template <Stored Form, int Rows>
void multiply(const MatrixProduct& p, const ProductTile& t) {
  const Columns columns{first_lanes(t.columns), first_lanes(t.columns - kLanes)};
  Sums<Rows> sums;
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    if (t.before) {
      const float* from = t.before + r * t.sums_stride;
      sums[r][0] = _mm512_maskz_loadu_ps(columns.low, from);
      sums[r][1] = _mm512_maskz_loadu_ps(columns.high, from + kLanes);
    } else {
      sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    }
  }
  if (!t.after && !t.before) prefetch_rows<Rows>(p, t);
  add_products<Form, Rows>(t, sums);
  if (!t.after) {
    if (p.y.type == DType::bf16) return write<BFloat16, Rows>(p, t, columns, sums);
    return write<float, Rows>(p, t, columns, sums);
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    float* to = t.after + r * t.sums_stride;
    store(to, columns.low, sums[r][0]);
    store(to + kLanes, columns.high, sums[r][1]);
  }
}

template <Stored Form, int... Rows>
void multiply_any(const MatrixProduct& p, const ProductTile& t,
                  std::integer_sequence<int, Rows...>) {
  using Multiply = void (*)(const MatrixProduct&, const ProductTile&);
  static constexpr Multiply kByRows[] = {multiply<Form, Rows + 1>...};
  kByRows[t.rows - 1](p, t);
}

}  // namespace

void multiply_tile(const MatrixProduct& product, const ProductTile& tile) {
  constexpr std::make_integer_sequence<int, kTileRows> kRows;
  if (product.a_stored == Stored::as_is) {
    multiply_any<Stored::as_is>(product, tile, kRows);
  } else {
    multiply_any<Stored::transposed>(product, tile, kRows);
  }
}

}  // namespace lockstep::engine::cpu
LOCKSTEP_AVX512_END
#endif
