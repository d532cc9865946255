// What both passes with pixels as lanes share: images as planes with a border of zeros.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cpu/convolution_shape.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kPlaneOutputs = 6;

// A padded image, a plane a channel. Rows are long enough to load 16 lanes from any output column
// of a block of 32 on.
struct Planes {
  std::int64_t rows, row;  // of a plane; floats of a row
  [[nodiscard]] std::int64_t plane() const { return rows * row; }
};
inline Planes planes_of(const ConvolutionShape& s) {
  const std::int64_t blocks = (s.out_width + 31) / 32;
  const std::int64_t reach = std::max(32 * blocks + s.kernel_w, s.width + 2 * s.pad);
  return {.rows = s.height + 2 * s.pad, .row = (reach + 15) / 16 * 16};
}

// Writes one image (height, width, channels) into planes whose border is zero already.
inline void fill_planes(const ConvolutionShape& s, const Planes& p, const float* image,
                        float* planes) {
  for (std::int64_t c = 0; c < s.inputs; ++c) {
    for (std::int64_t y = 0; y < s.height; ++y) {
      const float* from = image + y * s.width * s.inputs + c;
      float* to = planes + c * p.plane() + (y + s.pad) * p.row + s.pad;
      if (s.inputs == 1) {
        std::copy(from, from + s.width, to);
      } else {
        for (std::int64_t x = 0; x < s.width; ++x) to[x] = from[x * s.inputs];
      }
    }
  }
}

}  // namespace lockstep::engine::cpu
