#include "engine/cpu/avx512.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kVectors = 2;
constexpr std::int64_t kImages = 16 * kVectors;  // of a block

}  // namespace

bool image_lanes_fit(const ConvolutionShape& s) {
  return is_small_square(s) && s.inputs <= 6 && s.outputs <= 64 && s.images >= kImages / 2;
}

#ifdef __x86_64__
namespace {

std::int64_t blocks_of(const ConvolutionShape& s) {
  return (s.images + kImages - 1) / kImages;
}
std::int64_t image_floats(const ConvolutionShape& s) {
  return s.height * s.width * s.inputs;
}
std::int64_t gradient_floats(const ConvolutionShape& s) {
  return s.out_height * s.out_width * s.outputs;
}
// Both with images innermost.
std::int64_t scratch_floats(const ConvolutionShape& s) {
  return (image_floats(s) + gradient_floats(s)) * kImages;
}
std::int64_t weight_floats(const ConvolutionShape& s) {
  const std::int64_t floats = s.kernel_h * s.kernel_w * s.outputs * s.inputs;
  return (floats + 15) / 16 * 16;
}

// Weights by kernel row, kernel column and output; the inputs each.
void arrange_weights(const SmallConvolutionBackwardData& c, float* to) {
  const ConvolutionShape& s = c.shape;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  for (std::int64_t o = 0; o < s.outputs; ++o) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      for (std::int64_t t = 0; t < taps; ++t) {
        to[(t * s.outputs + o) * s.inputs + i] = c.w[(o * s.inputs + i) * taps + t];
      }
    }
  }
}

}  // namespace

LOCKSTEP_AVX512_BEGIN
namespace {

// to[column][image] of `images` rows of `columns`; images that a block lacks become 0.
void images_inward(const float* from, float* to, std::int64_t images, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += 16) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const avx512::Block block{.rows = std::clamp<std::int64_t>(images - 16 * v, 0, 16),
                                .columns = std::min<std::int64_t>(16, columns - c),
                                .from_stride = columns,
                                .to_stride = kImages};
      avx512::transpose_block(from + 16 * v * columns + c, to + c * kImages + 16 * v, block,
                              0xFFFF);
    }
  }
}

void images_outward(const float* from, float* to, std::int64_t images, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += 16) {
    for (std::int64_t n = 0; n < images; n += 16) {
      const avx512::Block block{.rows = std::min<std::int64_t>(16, columns - c),
                                .columns = std::min<std::int64_t>(16, images - n),
                                .from_stride = kImages,
                                .to_stride = columns};
      avx512::transpose_block(from + c * kImages + n, to + n * columns + c, block,
                              avx512::first_lanes(block.rows));
    }
  }
}

// One pixel of dx for all images of the block.
template <int Inputs>
[[gnu::always_inline]] inline void gather_pixel(const ConvolutionShape& s, const float* dy,
                                                const float* weights, std::int64_t y,
                                                std::int64_t x, float* dx) {
  __m512 sums[Inputs][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < Inputs; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_setzero_ps();
  }
  for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
    const std::int64_t row = y + s.pad - ky;
    if (row < 0 || row >= s.out_height) continue;
    for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
      const std::int64_t column = x + s.pad - kx;
      if (column < 0 || column >= s.out_width) continue;
      const float* gradient = dy + (row * s.out_width + column) * s.outputs * kImages;
      const float* w = weights + (ky * s.kernel_w + kx) * s.outputs * Inputs;
      for (std::int64_t o = 0; o < s.outputs; ++o, gradient += kImages, w += Inputs) {
        __m512 g[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) g[v] = _mm512_loadu_ps(gradient + 16 * v);
#pragma GCC unroll 6
        for (int i = 0; i < Inputs; ++i) {
          const __m512 weight = _mm512_set1_ps(w[i]);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            sums[i][v] = _mm512_fmadd_ps(g[v], weight, sums[i][v]);
          }
        }
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < Inputs; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(dx + i * kImages + 16 * v, sums[i][v]);
  }
}

template <int Inputs>
void gather_block(const ConvolutionShape& s, const float* dy, const float* weights, float* dx) {
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      gather_pixel<Inputs>(s, dy, weights, y, x, dx + (y * s.width + x) * Inputs * kImages);
    }
  }
}

}  // namespace
LOCKSTEP_AVX512_END

namespace {

using GatherBlock = void (*)(const ConvolutionShape&, const float*, const float*, float*);

GatherBlock gather_block_of(const ConvolutionShape& s) {
  constexpr GatherBlock kByInputs[] = {gather_block<1>, gather_block<2>, gather_block<3>,
                                       gather_block<4>, gather_block<5>, gather_block<6>};
  return kByInputs[s.inputs - 1];
}

}  // namespace

std::size_t image_lanes_workspace(const ConvolutionShape& s) {
  return static_cast<std::size_t>(weight_floats(s) + blocks_of(s) * scratch_floats(s)) *
         sizeof(float);
}

Kernel image_lanes_backward_data(const Context& context, const SmallConvolutionBackwardData& c,
                                 std::byte* workspace) {
  float* weights = reinterpret_cast<float*>(workspace);
  float* scratch = weights + weight_floats(c.shape);
  return [threads = context.threads, c, weights, scratch, gather = gather_block_of(c.shape)] {
    const ConvolutionShape& s = c.shape;
    arrange_weights(c, weights);
    for_pieces(threads, blocks_of(s), [&](std::int64_t block) {
      const std::int64_t first = block * kImages;
      const std::int64_t images = std::min(kImages, s.images - first);
      float* dy = scratch + block * scratch_floats(s);
      float* dx = dy + gradient_floats(s) * kImages;
      images_inward(c.dy + first * gradient_floats(s), dy, images, gradient_floats(s));
      gather(s, dy, weights, dx);
      images_outward(dx, c.dx + first * image_floats(s), images, image_floats(s));
    });
  };
}

#endif

}  // namespace lockstep::engine::cpu
