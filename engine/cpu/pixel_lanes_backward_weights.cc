#include "engine/cpu/avx512.h"
#include "engine/cpu/pixel_lanes.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

#ifdef __x86_64__
namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kVector = 16;

// What a piece sums, in vectors: a tap and output each, kernel row and input outermost; then the
// bias.
std::int64_t sums_of(const ConvolutionShape& s) {
  return (s.kernel_h * s.kernel_w * s.inputs + 1) * kPlaneOutputs;
}
// Rows of dy, six planes a row.
std::int64_t gradient_row(const ConvolutionShape& s) {
  return (s.out_width + kVector - 1) / kVector * kVector;
}

struct Scratch {
  float* sums;
  float* planes;
  float* gradients;
};
std::int64_t scratch_floats(const ConvolutionShape& s) {
  return sums_of(s) * kVector + s.inputs * planes_of(s).plane() +
         s.out_height * kPlaneOutputs * gradient_row(s);
}
Scratch scratch_of(const ConvolutionShape& s, float* workspace, std::int64_t piece) {
  float* begin = workspace + piece * scratch_floats(s);
  float* planes = begin + sums_of(s) * kVector;
  return {begin, planes, planes + s.inputs * planes_of(s).plane()};
}

}  // namespace

LOCKSTEP_AVX512_BEGIN
namespace {

// 16 pixels of six channels to six planes of 16 pixels: plane c takes lane 6 * x + c, from the
// first two, the next two or the last two of the six registers.
struct Deinterleave {
  alignas(64) std::int32_t lane[3][6][16];
  __mmask16 second[6] = {}, third[6] = {};

  Deinterleave() {
    for (int c = 0; c < 6; ++c) {
      for (int x = 0; x < 16; ++x) {
        const int at = 6 * x + c, pair = at / 32;
        for (int i = 0; i < 3; ++i) lane[i][c][x] = i == pair ? at % 32 : 0;
        if (pair == 1) second[c] = static_cast<__mmask16>(second[c] | (1U << x));
        if (pair == 2) third[c] = static_cast<__mmask16>(third[c] | (1U << x));
      }
    }
  }

  // Lanes beyond `pixels` become 0.
  [[gnu::always_inline]] void load(const float* from, std::int64_t pixels,
                                   __m512 (&planes)[6]) const {
    __m512 v[6];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      v[i] = _mm512_maskz_loadu_ps(avx512::first_lanes(6 * pixels - 16 * i), from + 16 * i);
    }
#pragma GCC unroll 6
    for (int c = 0; c < 6; ++c) {
      const __m512 a = _mm512_permutex2var_ps(v[0], _mm512_load_si512(lane[0][c]), v[1]);
      const __m512 b = _mm512_permutex2var_ps(v[2], _mm512_load_si512(lane[1][c]), v[3]);
      const __m512 d = _mm512_permutex2var_ps(v[4], _mm512_load_si512(lane[2][c]), v[5]);
      planes[c] = _mm512_mask_mov_ps(_mm512_mask_mov_ps(a, second[c], b), third[c], d);
    }
  }
};

// Splits one image's dy in planes and adds it to the bias' sums.
void split_gradients(const ConvolutionShape& s, const float* dy, float* planes, float* bias,
                     const Deinterleave& deinterleave) {
  const std::int64_t row = gradient_row(s);
  __m512 sums[6];
#pragma GCC unroll 6
  for (int c = 0; c < 6; ++c) sums[c] = _mm512_loadu_ps(bias + c * kVector);
  for (std::int64_t y = 0; y < s.out_height; ++y) {
    for (std::int64_t x = 0; x < s.out_width; x += kVector) {
      __m512 v[6];
      deinterleave.load(dy + (y * s.out_width + x) * 6, s.out_width - x, v);
#pragma GCC unroll 6
      for (int c = 0; c < 6; ++c) {
        _mm512_storeu_ps(planes + (y * 6 + c) * row + x, v[c]);
        sums[c] = _mm512_add_ps(sums[c], v[c]);
      }
    }
  }
#pragma GCC unroll 6
  for (int c = 0; c < 6; ++c) _mm512_storeu_ps(bias + c * kVector, sums[c]);
}

// Adds one image: all columns of one kernel row and one input at a time.
template <int Kernel>
void add_image(const ConvolutionShape& s, const float* planes, const float* gradients,
               float* sums) {
  const Planes p = planes_of(s);
  const std::int64_t row = gradient_row(s);
  for (std::int64_t ky = 0; ky < Kernel; ++ky) {
    for (std::int64_t i = 0; i < s.inputs; ++i, sums += Kernel * 6 * kVector) {
      __m512 a[Kernel][6];
#pragma GCC unroll 5
      for (int kx = 0; kx < Kernel; ++kx) {
#pragma GCC unroll 6
        for (int c = 0; c < 6; ++c) a[kx][c] = _mm512_loadu_ps(sums + (kx * 6 + c) * kVector);
      }
      const float* x = planes + i * p.plane() + ky * p.row;
      const float* g = gradients;
      for (std::int64_t y = 0; y < s.out_height; ++y, x += p.row, g += 6 * row) {
        for (std::int64_t v = 0; v < row; v += kVector) {
#pragma GCC unroll 5
          for (int kx = 0; kx < Kernel; ++kx) {
            const __m512 pixels = _mm512_loadu_ps(x + v + kx);
#pragma GCC unroll 6
            for (int c = 0; c < 6; ++c) {
              a[kx][c] = _mm512_fmadd_ps(pixels, _mm512_loadu_ps(g + c * row + v), a[kx][c]);
            }
          }
        }
      }
#pragma GCC unroll 5
      for (int kx = 0; kx < Kernel; ++kx) {
#pragma GCC unroll 6
        for (int c = 0; c < 6; ++c) _mm512_storeu_ps(sums + (kx * 6 + c) * kVector, a[kx][c]);
      }
    }
  }
}

void add_piece(const SmallConvolutionBackwardWeights& c, const ImageRange& images,
               const Scratch& scratch) {
  const ConvolutionShape& s = c.shape;
  const Planes p = planes_of(s);
  const Deinterleave deinterleave;
  std::fill(scratch.sums, scratch.sums + sums_of(s) * kVector, 0.0F);
  std::fill(scratch.planes, scratch.planes + s.inputs * p.plane(), 0.0F);
  float* bias = scratch.sums + (sums_of(s) - kPlaneOutputs) * kVector;
  const auto add = s.kernel_h == 3 ? add_image<3> : add_image<5>;
  for (std::int64_t n = images.begin; n < images.end; ++n) {
    fill_planes(s, p, c.x + n * s.height * s.width * s.inputs, scratch.planes);
    split_gradients(s, c.dy + n * s.out_height * s.out_width * s.outputs, scratch.gradients, bias,
                    deinterleave);
    add(s, scratch.planes, scratch.gradients, scratch.sums);
  }
}

}  // namespace
LOCKSTEP_AVX512_END

namespace {

// One sum of all pieces and lanes.
float total(const ConvolutionShape& s, const float* workspace, std::int64_t sum) {
  double result = 0;
  for (std::int64_t piece = 0; piece < image_pieces(s); ++piece) {
    const float* vector = workspace + piece * scratch_floats(s) + sum * kVector;
    for (std::int64_t lane = 0; lane < kVector; ++lane) result += static_cast<double>(vector[lane]);
  }
  return static_cast<float>(result);
}

void gather(const SmallConvolutionBackwardWeights& c, const float* workspace) {
  const ConvolutionShape& s = c.shape;
  std::int64_t sum = 0;
  for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
        for (std::int64_t o = 0; o < kPlaneOutputs; ++o) {
          c.dw[((o * s.inputs + i) * s.kernel_h + ky) * s.kernel_w + kx] =
              total(s, workspace, sum++);
        }
      }
    }
  }
  if (!c.db) return;
  for (std::int64_t o = 0; o < kPlaneOutputs; ++o) c.db[o] = total(s, workspace, sum++);
}

}  // namespace

std::size_t pixel_lanes_backward_weights_workspace(const ConvolutionShape& s) {
  return static_cast<std::size_t>(image_pieces(s) * scratch_floats(s)) * sizeof(float);
}

Kernel pixel_lanes_backward_weights(const Context& context,
                                    const SmallConvolutionBackwardWeights& c,
                                    std::byte* workspace) {
  return [threads = context.threads, c, floats = reinterpret_cast<float*>(workspace)] {
    for_pieces(threads, image_pieces(c.shape), [&](std::int64_t piece) {
      add_piece(c, images_of_piece(c.shape, piece), scratch_of(c.shape, floats, piece));
    });
    gather(c, floats);
  };
}

}  // namespace lockstep::engine::cpu
#endif
