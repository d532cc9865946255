// What the hand-written AVX-512 kernels share. A file of such kernels includes this last and puts
// them between LOCKSTEP_AVX512_BEGIN and LOCKSTEP_AVX512_END, in an unnamed namespace; they are
// called only where Isa::avx512 was chosen.
#pragma once

#ifdef __x86_64__

#include <immintrin.h>

#include <cstdint>

#define LOCKSTEP_AVX512_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"arch=x86-64-v4\")")
#define LOCKSTEP_AVX512_END _Pragma("GCC pop_options")

LOCKSTEP_AVX512_BEGIN
namespace lockstep::engine::cpu::avx512 {

inline constexpr std::int64_t kLanes = 16;

// The first `count` lanes; none below 0, all from 16 on.
[[gnu::always_inline]] inline __mmask16 first_lanes(std::int64_t count) {
  return count >= kLanes ? static_cast<__mmask16>(0xFFFF)
         : count <= 0    ? static_cast<__mmask16>(0)
                         : static_cast<__mmask16>((1U << count) - 1U);
}

// exp of each lane, as exp_of() of engine/cpu/vector_math.h makes it.
[[gnu::always_inline]] inline __m512 exp_of(__m512 x) {
  constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)), kToNearest);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4F);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1F));
  p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1.0F)));
  return _mm512_scalef_ps(p, n);
}

// r[i] lane j becomes r[j] lane i: pairs, then pairs of pairs, then quarters of registers.
[[gnu::always_inline]] inline void transpose16(__m512 (&r)[16]) {
  __m512 t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(t[4 * i]), b = _mm512_castps_pd(t[4 * i + 1]);
    const __m512d c = _mm512_castps_pd(t[4 * i + 2]), d = _mm512_castps_pd(t[4 * i + 3]);
    r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xDD);
    t[8 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
    r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xDD);
    r[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
    r[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xDD);
  }
}

// A block of at most 16 by 16 of a row-major matrix.
struct Block {
  std::int64_t rows, columns;
  std::int64_t from_stride, to_stride;
};

// to[c * to_stride + r] = from[r * from_stride + c]; the lanes from `rows` up to `written` become
// 0.
[[gnu::always_inline]] inline void transpose_block(const float* from, float* to, const Block& b,
                                                   __mmask16 written) {
  __m512 r[16];
  const __mmask16 columns = first_lanes(b.columns);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    r[i] =
        i < b.rows ? _mm512_maskz_loadu_ps(columns, from + i * b.from_stride) : _mm512_setzero_ps();
  }
  transpose16(r);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i < b.columns) _mm512_mask_storeu_ps(to + i * b.to_stride, written, r[i]);
  }
}

}  // namespace lockstep::engine::cpu::avx512
LOCKSTEP_AVX512_END

#endif
