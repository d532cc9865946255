#include "engine/cpu/channel_lanes.h"

#include <utility>

#include "engine/cpu/avx512.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {

bool channel_lanes_fit(const ConvolutionShape& s) {
  const bool inputs = s.inputs == 1 || s.inputs == 3 || s.inputs == 6;
  return is_small_square(s) && inputs && s.outputs == kLaneOutputs;
}

#ifdef __x86_64__
namespace {

// Weights by kernel row, kernel column and input, as pixels of an image row lie; 16 outputs each;
// the bias last.
std::int64_t weight_floats(const ConvolutionShape& s) {
  return (s.kernel_h * s.kernel_w * s.inputs + 1) * kLaneOutputs;
}

void arrange_weights(const SmallConvolution& c, float* to) {
  const ConvolutionShape& s = c.shape;
  const std::int64_t taps = s.kernel_h * s.kernel_w;
  for (std::int64_t o = 0; o < kLaneOutputs; ++o) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      for (std::int64_t t = 0; t < taps; ++t) {
        to[(t * s.inputs + i) * kLaneOutputs + o] = c.w[(o * s.inputs + i) * taps + t];
      }
    }
    to[taps * s.inputs * kLaneOutputs + o] = c.b ? c.b[o] : 0.0F;
  }
}

// Columns of an output row are worked on in nearly equal blocks of at most kMostColumns.
constexpr int kMostColumns = 10;

}  // namespace

LOCKSTEP_AVX512_BEGIN
namespace {

struct Tile {
  const float* x;       // first input of the first output
  std::int64_t row;     // floats of a row of the input
  std::int64_t kernel;  // rows and columns
  const float* weights;
  float* y;
  std::int64_t y_row;
};

// Rows by Columns outputs: a register each, fed by broadcast inputs. What a pixel's floats are is
// known when this is compiled, so that inputs are operands with an offset.
template <int Inputs, int Rows, int Columns>
void convolve_tile(const Tile& t) {
  const std::int64_t span = t.kernel * Inputs;
  __m512 sums[Rows][Columns];
  const float* w = t.weights;
  const __m512 bias = _mm512_loadu_ps(w + t.kernel * span * kLaneOutputs);
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 10
    for (int c = 0; c < Columns; ++c) sums[r][c] = bias;
  }
  for (std::int64_t ky = 0; ky < t.kernel; ++ky) {
    const float* x = t.x + ky * t.row;
    for (std::int64_t i = 0; i < span; ++i, ++x, w += kLaneOutputs) {
      const __m512 weight = _mm512_loadu_ps(w);
#pragma GCC unroll 10
      for (int c = 0; c < Columns; ++c) {
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r) {
          const __m512 input = _mm512_set1_ps(x[r * t.row + c * Inputs]);
          sums[r][c] = _mm512_fmadd_ps(weight, input, sums[r][c]);
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 10
    for (int c = 0; c < Columns; ++c) {
      _mm512_storeu_ps(t.y + r * t.y_row + c * kLaneOutputs, sums[r][c]);
    }
  }
}

using ConvolveTile = void (*)(const Tile&);

template <int Inputs, int Rows, int... Columns>
ConvolveTile tile_of(std::int64_t columns, std::integer_sequence<int, Columns...>) {
  constexpr ConvolveTile kByColumns[] = {convolve_tile<Inputs, Rows, Columns + 1>...};
  return kByColumns[columns - 1];
}

// `x` is the padded image.
template <int Inputs>
void convolve_image(const ConvolutionShape& s, const float* x, const float* weights, float* y) {
  const std::int64_t blocks = (s.out_width + kMostColumns - 1) / kMostColumns;
  constexpr auto kColumns = std::make_integer_sequence<int, kMostColumns>();
  Tile tile{.row = padded_row(s),
            .kernel = s.kernel_h,
            .weights = weights,
            .y_row = s.out_width * kLaneOutputs};
  for (std::int64_t row = 0; row < s.out_height; row += 2) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = block * s.out_width / blocks;
      const std::int64_t end = (block + 1) * s.out_width / blocks;
      tile.x = x + row * tile.row + begin * Inputs;
      tile.y = y + row * tile.y_row + begin * kLaneOutputs;
      if (row + 1 < s.out_height) {
        tile_of<Inputs, 2>(end - begin, kColumns)(tile);
      } else {
        tile_of<Inputs, 1>(end - begin, kColumns)(tile);
      }
    }
  }
}

}  // namespace
LOCKSTEP_AVX512_END

std::size_t channel_lanes_workspace(const ConvolutionShape& s) {
  return static_cast<std::size_t>(weight_floats(s) + image_pieces(s) * padded_floats(s)) *
         sizeof(float);
}

Kernel channel_lanes(const Context& context, const SmallConvolution& c, std::byte* workspace) {
  float* weights = reinterpret_cast<float*>(workspace);
  float* scratch = weights + weight_floats(c.shape);
  return [threads = context.threads, c, weights, scratch] {
    const ConvolutionShape& s = c.shape;
    arrange_weights(c, weights);
    const auto convolve = s.inputs == 1   ? convolve_image<1>
                          : s.inputs == 3 ? convolve_image<3>
                                          : convolve_image<6>;
    for_pieces(threads, image_pieces(s), [&](std::int64_t piece) {
      float* padded = scratch + piece * padded_floats(s);
      std::fill(padded, padded + padded_floats(s), 0.0F);
      const ImageRange images = images_of_piece(s, piece);
      for (std::int64_t n = images.begin; n < images.end; ++n) {
        const float* x = padded_image(s, c.x + n * s.height * s.width * s.inputs, padded);
        convolve(s, x, weights, c.y + n * s.out_height * s.out_width * s.outputs);
      }
    });
  };
}

#endif

}  // namespace lockstep::engine::cpu
