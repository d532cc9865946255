// Lanes are channels; with 6 channels, those of two windows.
#include "engine/cpu/pool_rows.h"

#include <algorithm>

#include "engine/cpu/avx512.h"

namespace lockstep::engine::cpu {

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace {

using avx512::first_lanes;
using avx512::kLanes;

// The largest of a window, element by element, and its place. A NaN ends the contest.
struct Best {
  __m512 value;
  __m512i place;
  __mmask16 open;
};

[[gnu::always_inline]] inline Best worst(bool relu) {
  if (relu) return {_mm512_setzero_ps(), _mm512_set1_epi32(kReluGaveZero), 0xFFFF};
  return {_mm512_set1_ps(-__builtin_inff()), _mm512_setzero_si512(), 0xFFFF};
}

[[gnu::always_inline]] inline void contend(Best& best, __m512 value, int place) {
  const __mmask16 wins = _mm512_mask_cmp_ps_mask(best.open, value, best.value, _CMP_NLE_UQ);
  best.open = _mm512_mask_cmp_ps_mask(best.open, value, value, _CMP_ORD_Q);
  best.value = _mm512_mask_mov_ps(best.value, wins, value);
  best.place = _mm512_mask_mov_epi32(best.place, wins, _mm512_set1_epi32(place));
}

[[gnu::always_inline]] inline void store(const Best& best, __mmask16 lanes, float* y,
                                         std::uint8_t* index) {
  _mm512_mask_storeu_ps(y, lanes, best.value);
  _mm_mask_storeu_epi8(index, lanes, _mm512_cvtepi32_epi8(best.place));
}

// Up to 16 channels of one window.
[[gnu::always_inline]] inline void pool_window(const PoolShape& s, const float* x, __mmask16 lanes,
                                               float* y, std::uint8_t* index) {
  const float* below = x + s.width * s.channels;
  Best best = worst(s.relu);
  contend(best, _mm512_maskz_loadu_ps(lanes, x), 0);
  contend(best, _mm512_maskz_loadu_ps(lanes, x + s.channels), 1);
  contend(best, _mm512_maskz_loadu_ps(lanes, below), 2);
  contend(best, _mm512_maskz_loadu_ps(lanes, below + s.channels), 3);
  store(best, lanes, y, index);
}

void pool_any(const PoolShape& s, const float* x, float* y, std::uint8_t* index) {
  for (std::int64_t w = 0; w < s.out_width; ++w) {
    for (std::int64_t c = 0; c < s.channels; c += kLanes) {
      const std::int64_t to = w * s.channels + c;
      pool_window(s, x + 2 * w * s.channels + c, first_lanes(s.channels - c), y + to, index + to);
    }
  }
}

// Up to 16 channels of one window.
[[gnu::always_inline]] inline void spread_window(const PoolShape& s, const float* dy,
                                                 __mmask16 lanes, const std::uint8_t* index,
                                                 float* dx) {
  const __m512 gradient = _mm512_maskz_loadu_ps(lanes, dy);
  const __m128i place = _mm_maskz_loadu_epi8(lanes, index);
  float* below = dx + s.width * s.channels;
  float* const to[4] = {dx, dx + s.channels, below, below + s.channels};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __mmask16 here = _mm_cmpeq_epi8_mask(place, _mm_set1_epi8(static_cast<char>(i)));
    _mm512_mask_storeu_ps(to[i], lanes, _mm512_maskz_mov_ps(here, gradient));
  }
}

// The last column of an odd width is in no window.
void clear_last_column(const PoolShape& s, float* dx) {
  const std::int64_t row = s.width * s.channels;
  if (s.width % 2 == 0) return;
  std::fill(dx + row - s.channels, dx + row, 0.0F);
  std::fill(dx + 2 * row - s.channels, dx + 2 * row, 0.0F);
}

void pool_backward_any(const PoolShape& s, const float* dy, const std::uint8_t* index, float* dx) {
  for (std::int64_t w = 0; w < s.out_width; ++w) {
    for (std::int64_t c = 0; c < s.channels; c += kLanes) {
      const std::int64_t from = w * s.channels + c;
      spread_window(s, dy + from, first_lanes(s.channels - c), index + from,
                    dx + 2 * w * s.channels + c);
    }
  }
  clear_last_column(s, dx);
}

// Two windows of 6 channels: 24 floats of either row, of which lanes 0-5 and 12-17 are the left
// pixels and the others the right ones.
constexpr std::int64_t kSix = 6;
constexpr __mmask16 kTwoWindows = 0x0FFF;

void pool_six(const PoolShape& s, const float* x, float* y, std::uint8_t* index) {
  const __m512i left = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17, 0, 0, 0, 0);
  const __m512i right = _mm512_setr_epi32(6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23, 0, 0, 0, 0);
  const float* below = x + s.width * kSix;
  std::int64_t w = 0;
  for (; w + 2 <= s.out_width; w += 2, x += 24, below += 24, y += 12, index += 12) {
    const __m512 a0 = _mm512_loadu_ps(x), b0 = _mm512_loadu_ps(below);
    const __m512 a1 = _mm512_castps256_ps512(_mm256_loadu_ps(x + 16));
    const __m512 b1 = _mm512_castps256_ps512(_mm256_loadu_ps(below + 16));
    Best best = worst(s.relu);
    contend(best, _mm512_permutex2var_ps(a0, left, a1), 0);
    contend(best, _mm512_permutex2var_ps(a0, right, a1), 1);
    contend(best, _mm512_permutex2var_ps(b0, left, b1), 2);
    contend(best, _mm512_permutex2var_ps(b0, right, b1), 3);
    store(best, kTwoWindows, y, index);
  }
  if (w < s.out_width) pool_window(s, x, first_lanes(kSix), y, index);
}

void pool_backward_six(const PoolShape& s, const float* dy, const std::uint8_t* index, float* dx) {
  // Lane -> channel of the window pair, and -> the window's column, for the 24 floats of a row.
  const __m512i from_a = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  const __m512i from_b = _mm512_setr_epi32(10, 11, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m512i column_a = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
  const __m512i column_b = _mm512_setr_epi32(0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m512i two = _mm512_set1_epi32(2);
  float* below = dx + s.width * kSix;
  const std::int64_t pairs = s.out_width / 2;
  for (std::int64_t p = 0; p < pairs; ++p) {
    const __m512 gradient = _mm512_maskz_loadu_ps(kTwoWindows, dy + 12 * p);
    const __m512i place = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(kTwoWindows, index + 12 * p));
    const __m512 a = _mm512_permutexvar_ps(from_a, gradient);
    const __m512 b = _mm512_permutexvar_ps(from_b, gradient);
    __m512i place_a = _mm512_permutexvar_epi32(from_a, place);
    __m512i place_b = _mm512_permutexvar_epi32(from_b, place);
    float* rows[2] = {dx + 24 * p, below + 24 * p};
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
      const __mmask16 here_a = _mm512_cmpeq_epi32_mask(place_a, column_a);
      const __mmask16 here_b = _mm512_cmpeq_epi32_mask(place_b, column_b);
      _mm512_storeu_ps(rows[row], _mm512_maskz_mov_ps(here_a, a));
      _mm256_storeu_ps(rows[row] + 16, _mm512_castps512_ps256(_mm512_maskz_mov_ps(here_b, b)));
      place_a = _mm512_sub_epi32(place_a, two);
      place_b = _mm512_sub_epi32(place_b, two);
    }
  }
  if (s.out_width % 2 != 0) {
    const std::int64_t from = 12 * pairs;
    spread_window(s, dy + from, first_lanes(kSix), index + from, dx + 2 * from);
  }
  clear_last_column(s, dx);
}

bool is_two_by_two(const PoolShape& s) {
  return s.size == 2 && s.stride == 2;
}

}  // namespace
LOCKSTEP_AVX512_END

PoolRow pool_row(Isa isa, const PoolShape& shape) {
  if (isa != Isa::avx512 || !is_two_by_two(shape)) return nullptr;
  return shape.channels == kSix ? pool_six : pool_any;
}

PoolBackwardRow pool_backward_row(Isa isa, const PoolShape& shape) {
  if (isa != Isa::avx512 || !is_two_by_two(shape)) return nullptr;
  return shape.channels == kSix ? pool_backward_six : pool_backward_any;
}

#else

PoolRow pool_row(Isa, const PoolShape&) {
  return nullptr;
}
PoolBackwardRow pool_backward_row(Isa, const PoolShape&) {
  return nullptr;
}

#endif

}  // namespace lockstep::engine::cpu
