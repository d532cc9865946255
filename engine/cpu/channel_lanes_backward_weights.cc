#include "engine/cpu/avx512.h"
#include "engine/cpu/channel_lanes.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

#ifdef __x86_64__
namespace lockstep::engine::cpu {
namespace {

// Images worked on together: x and dy stay in the first-level cache over all kernel rows.
constexpr std::int64_t kTogether = 4;

// What a piece sums, in vectors: kernel row, kernel column, input; then the bias.
std::int64_t sums_of(const ConvolutionShape& s) {
  return s.kernel_h * s.kernel_w * s.inputs + 1;
}
std::int64_t scratch_floats(const ConvolutionShape& s) {
  return sums_of(s) * kLaneOutputs + kTogether * padded_floats(s);
}

// Pointers to a block of images, padded.
struct Images {
  const float* x[kTogether];
  const float* dy;
  std::int64_t count;
};

}  // namespace

LOCKSTEP_AVX512_BEGIN
namespace {

// Adds to the sums of KernelRows kernel rows from `first` on; Span floats of x, those of a kernel
// row, meet each pixel of dy.
template <int Span, int KernelRows>
void add_rows(const ConvolutionShape& s, const Images& images, std::int64_t first, float* sums) {
  __m512 a[KernelRows][Span];
#pragma GCC unroll 5
  for (int k = 0; k < KernelRows; ++k) {
#pragma GCC unroll 30
    for (int i = 0; i < Span; ++i) a[k][i] = _mm512_loadu_ps(sums + (k * Span + i) * kLaneOutputs);
  }
  const std::int64_t row = padded_row(s);
  const float* dy = images.dy;
  for (std::int64_t n = 0; n < images.count; ++n) {
    for (std::int64_t y = 0; y < s.out_height; ++y) {
      const float* x = images.x[n] + (y + first) * row;
      for (std::int64_t column = 0; column < s.out_width; ++column) {
        // Else GCC keeps x of one column for the next in registers, and spills the sums.
        asm volatile("" : "+r"(x));
        const __m512 gradient = _mm512_loadu_ps(dy);
#pragma GCC unroll 5
        for (int k = 0; k < KernelRows; ++k) {
#pragma GCC unroll 30
          for (int i = 0; i < Span; ++i) {
            a[k][i] = _mm512_fmadd_ps(gradient, _mm512_set1_ps(x[k * row + i]), a[k][i]);
          }
        }
        x += s.inputs;
        dy += kLaneOutputs;
      }
    }
  }
#pragma GCC unroll 5
  for (int k = 0; k < KernelRows; ++k) {
#pragma GCC unroll 30
    for (int i = 0; i < Span; ++i) _mm512_storeu_ps(sums + (k * Span + i) * kLaneOutputs, a[k][i]);
  }
}

void add_bias(const ConvolutionShape& s, const Images& images, float* sums) {
  __m512 a[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a[i] = _mm512_setzero_ps();
  const std::int64_t pixels = images.count * s.out_height * s.out_width;
  std::int64_t p = 0;
  for (; p + 4 <= pixels; p += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      a[i] = _mm512_add_ps(a[i], _mm512_loadu_ps(images.dy + (p + i) * kLaneOutputs));
    }
  }
  for (; p < pixels; ++p) a[0] = _mm512_add_ps(a[0], _mm512_loadu_ps(images.dy + p * kLaneOutputs));
  const __m512 total = _mm512_add_ps(_mm512_add_ps(a[0], a[1]), _mm512_add_ps(a[2], a[3]));
  _mm512_storeu_ps(sums, _mm512_add_ps(_mm512_loadu_ps(sums), total));
}

// All kernel rows, as many at a time as registers hold.
template <int Kernel, int Inputs>
void add_images(const ConvolutionShape& s, const Images& images, float* sums) {
  constexpr int kSpan = Kernel * Inputs;
  constexpr int kRows = kSpan * Kernel <= 30 ? Kernel : 30 / kSpan;
  constexpr std::int64_t kFloats = kSpan * kLaneOutputs;
  int ky = 0;
  for (; ky + kRows <= Kernel; ky += kRows) {
    add_rows<kSpan, kRows>(s, images, ky, sums + ky * kFloats);
  }
  constexpr int kLeft = Kernel % kRows;
  if constexpr (kLeft > 0) add_rows<kSpan, kLeft>(s, images, ky, sums + ky * kFloats);
  add_bias(s, images, sums + Kernel * kFloats);
}

using AddImages = void (*)(const ConvolutionShape&, const Images&, float*);

AddImages add_images_of(const ConvolutionShape& s) {
  const bool three = s.kernel_h == 3;
  if (s.inputs == 1) return three ? add_images<3, 1> : add_images<5, 1>;
  if (s.inputs == 3) return three ? add_images<3, 3> : add_images<5, 3>;
  return three ? add_images<3, 6> : add_images<5, 6>;
}

}  // namespace
LOCKSTEP_AVX512_END

namespace {

void add_piece(const SmallConvolutionBackwardWeights& c, const ImageRange& range, float* scratch) {
  const ConvolutionShape& s = c.shape;
  std::fill(scratch, scratch + scratch_floats(s), 0.0F);
  float* padded = scratch + sums_of(s) * kLaneOutputs;
  const AddImages add = add_images_of(s);
  for (std::int64_t n = range.begin; n < range.end; n += kTogether) {
    Images images{.x = {},
                  .dy = c.dy + n * s.out_height * s.out_width * kLaneOutputs,
                  .count = std::min(kTogether, range.end - n)};
    for (std::int64_t i = 0; i < images.count; ++i) {
      images.x[i] = padded_image(s, c.x + (n + i) * s.height * s.width * s.inputs,
                                 padded + i * padded_floats(s));
    }
    add(s, images, scratch);
  }
}

void gather(const SmallConvolutionBackwardWeights& c, const float* workspace) {
  const ConvolutionShape& s = c.shape;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  for (std::int64_t o = 0; o < kLaneOutputs; ++o) {
    for (std::int64_t sum = 0; sum < sums_of(s); ++sum) {
      float total = 0;
      for (std::int64_t piece = 0; piece < image_pieces(s); ++piece) {
        total += workspace[piece * scratch_floats(s) + sum * kLaneOutputs + o];
      }
      if (sum < taps * s.inputs) {
        c.dw[(o * s.inputs + sum % s.inputs) * taps + sum / s.inputs] = total;
      } else if (c.db) {
        c.db[o] = total;
      }
    }
  }
}

}  // namespace

std::size_t channel_lanes_backward_weights_workspace(const ConvolutionShape& s) {
  return static_cast<std::size_t>(image_pieces(s) * scratch_floats(s)) * sizeof(float);
}

Kernel channel_lanes_backward_weights(const Context& context,
                                      const SmallConvolutionBackwardWeights& c,
                                      std::byte* workspace) {
  return [threads = context.threads, c, floats = reinterpret_cast<float*>(workspace)] {
    for_pieces(threads, image_pieces(c.shape), [&](std::int64_t piece) {
      add_piece(c, images_of_piece(c.shape, piece), floats + piece * scratch_floats(c.shape));
    });
    gather(c, floats);
  };
}

}  // namespace lockstep::engine::cpu
#endif
