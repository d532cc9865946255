#include "engine/cpu/pixel_lanes.h"

#include "engine/cpu/avx512.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {

bool pixel_lanes_fit(const ConvolutionShape& s) {
  return is_small_square(s) && s.inputs <= 4 && s.outputs == kPlaneOutputs && s.out_width >= 8;
}

#ifdef __x86_64__
namespace {

// Weights by tap: kernel row, input, kernel column; then 6 outputs and 2 to spare.
constexpr std::int64_t kTap = 8;

std::int64_t weight_floats(const ConvolutionShape& s) {
  return (s.kernel_h * s.inputs * s.kernel_w + 1) * kTap;  // the bias last
}

void arrange_weights(const SmallConvolution& c, float* to) {
  const ConvolutionShape& s = c.shape;
  std::int64_t tap = 0;
  for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      for (std::int64_t kx = 0; kx < s.kernel_w; ++kx, ++tap) {
        for (std::int64_t o = 0; o < kPlaneOutputs; ++o) {
          to[tap * kTap + o] = c.w[((o * s.inputs + i) * s.kernel_h + ky) * s.kernel_w + kx];
        }
      }
    }
  }
  for (std::int64_t o = 0; o < kPlaneOutputs; ++o) to[tap * kTap + o] = c.b ? c.b[o] : 0.0F;
}

}  // namespace

LOCKSTEP_AVX512_BEGIN
namespace {

// Six planes of 16 pixels to 16 pixels of six channels: pairs of planes first, then three streams
// of pairs, A0 B0 C0 A1 B1 C1 A2 B2 | C2 A3 B3 C3 A4 B4 C4 A5 | B5 C5 A6 B6 C6 A7 B7 C7.
struct Interleave {
  __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  __m512i ab0 = _mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10);
  __m512i ab1 = _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5);
  __m512i ab2 = _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0);
  __m512i c0 = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0);
  __m512i c1 = _mm512_setr_epi64(2, 0, 0, 3, 0, 0, 4, 0);
  __m512i c2 = _mm512_setr_epi64(0, 5, 0, 0, 6, 0, 0, 7);

  // Not implicit: that would be compiled for a machine without AVX-512.
  Interleave() {}

  // 8 pixels, from pairs of planes; writes the first `floats` of 48.
  [[gnu::always_inline]] void store(const __m512 (&pairs)[3], float* to,
                                    std::int64_t floats) const {
    const __m512d a = _mm512_castps_pd(pairs[0]), b = _mm512_castps_pd(pairs[1]);
    const __m512d c = _mm512_castps_pd(pairs[2]);
    const __m512d r0 = _mm512_mask_permutexvar_pd(_mm512_permutex2var_pd(a, ab0, b), 0x24, c0, c);
    const __m512d r1 = _mm512_mask_permutexvar_pd(_mm512_permutex2var_pd(a, ab1, b), 0x49, c1, c);
    const __m512d r2 = _mm512_mask_permutexvar_pd(_mm512_permutex2var_pd(a, ab2, b), 0x92, c2, c);
    _mm512_mask_storeu_ps(to, avx512::first_lanes(floats), _mm512_castpd_ps(r0));
    _mm512_mask_storeu_ps(to + 16, avx512::first_lanes(floats - 16), _mm512_castpd_ps(r1));
    _mm512_mask_storeu_ps(to + 32, avx512::first_lanes(floats - 32), _mm512_castpd_ps(r2));
  }

  // 16 pixels, of which the first `pixels` are written.
  [[gnu::always_inline]] void store16(const __m512 (&planes)[6], float* to,
                                      std::int64_t pixels) const {
    const __m512 lower[3] = {_mm512_permutex2var_ps(planes[0], low, planes[1]),
                             _mm512_permutex2var_ps(planes[2], low, planes[3]),
                             _mm512_permutex2var_ps(planes[4], low, planes[5])};
    store(lower, to, 6 * pixels);
    const __m512 upper[3] = {_mm512_permutex2var_ps(planes[0], high, planes[1]),
                             _mm512_permutex2var_ps(planes[2], high, planes[3]),
                             _mm512_permutex2var_ps(planes[4], high, planes[5])};
    store(upper, to + 48, 6 * pixels - 48);
  }
};

struct Segment {
  const float* corner;      // first input of the first output, in the first plane
  std::int64_t plane, row;  // floats from one to the next
  const float* weights;
  float* y;
  std::int64_t pixels;
};

// Up to 16 * Vectors pixels of one row.
template <int Kernel, int Inputs, int Vectors>
[[gnu::always_inline]] inline void convolve_segment(const Segment& s,
                                                    const Interleave& interleave) {
  __m512 sums[Vectors][6];
  const float* w = s.weights;
  const float* bias = w + Kernel * Kernel * Inputs * kTap;
#pragma GCC unroll 6
  for (int o = 0; o < 6; ++o) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[v][o] = _mm512_set1_ps(bias[o]);
  }
  for (int ky = 0; ky < Kernel; ++ky) {
    const float* from = s.corner + ky * s.row;
    for (int i = 0; i < Inputs; ++i, from += s.plane) {
#pragma GCC unroll 5
      for (int kx = 0; kx < Kernel; ++kx, w += kTap) {
        __m512 x[Vectors];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) x[v] = _mm512_loadu_ps(from + kx + 16 * v);
#pragma GCC unroll 6
        for (int o = 0; o < 6; ++o) {
          const __m512 weight = _mm512_set1_ps(w[o]);
#pragma GCC unroll 2
          for (int v = 0; v < Vectors; ++v) {
            sums[v][o] = _mm512_fmadd_ps(x[v], weight, sums[v][o]);
          }
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) {
    interleave.store16(sums[v], s.y + v * 96, s.pixels - 16 * v);
  }
}

template <int Kernel, int Inputs>
void convolve_image(const ConvolutionShape& s, const float* planes, const float* weights,
                    float* y) {
  const Planes p = planes_of(s);
  const Interleave interleave;
  for (std::int64_t row = 0; row < s.out_height; ++row) {
    for (std::int64_t column = 0; column < s.out_width; column += 32) {
      const Segment segment{.corner = planes + row * p.row + column,
                            .plane = p.plane(),
                            .row = p.row,
                            .weights = weights,
                            .y = y + (row * s.out_width + column) * kPlaneOutputs,
                            .pixels = std::min<std::int64_t>(32, s.out_width - column)};
      if (segment.pixels > 16) {
        convolve_segment<Kernel, Inputs, 2>(segment, interleave);
      } else {
        convolve_segment<Kernel, Inputs, 1>(segment, interleave);
      }
    }
  }
}

using ConvolveImage = void (*)(const ConvolutionShape&, const float*, const float*, float*);

ConvolveImage convolve_image_of(const ConvolutionShape& s) {
  constexpr ConvolveImage kThree[] = {convolve_image<3, 1>, convolve_image<3, 2>,
                                      convolve_image<3, 3>, convolve_image<3, 4>};
  constexpr ConvolveImage kFive[] = {convolve_image<5, 1>, convolve_image<5, 2>,
                                     convolve_image<5, 3>, convolve_image<5, 4>};
  return (s.kernel_h == 3 ? kThree : kFive)[s.inputs - 1];
}

}  // namespace
LOCKSTEP_AVX512_END

std::size_t pixel_lanes_workspace(const ConvolutionShape& s) {
  const std::int64_t planes = s.inputs * planes_of(s).plane();
  return static_cast<std::size_t>(weight_floats(s) + image_pieces(s) * planes) * sizeof(float);
}

Kernel pixel_lanes(const Context& context, const SmallConvolution& c, std::byte* workspace) {
  float* weights = reinterpret_cast<float*>(workspace);
  float* scratch = weights + weight_floats(c.shape);
  return [threads = context.threads, c, weights, scratch] {
    const ConvolutionShape& s = c.shape;
    const Planes p = planes_of(s);
    arrange_weights(c, weights);
    const ConvolveImage convolve = convolve_image_of(s);
    for_pieces(threads, image_pieces(s), [&](std::int64_t piece) {
      float* planes = scratch + piece * s.inputs * p.plane();
      std::fill(planes, planes + s.inputs * p.plane(), 0.0F);
      const ImageRange images = images_of_piece(s, piece);
      for (std::int64_t n = images.begin; n < images.end; ++n) {
        fill_planes(s, p, c.x + n * s.height * s.width * s.inputs, planes);
        float* y = c.y + n * s.out_height * s.out_width * s.outputs;
        convolve(s, planes, weights, y);
      }
    });
  };
}

#endif

}  // namespace lockstep::engine::cpu
