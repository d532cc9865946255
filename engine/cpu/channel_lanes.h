// What both passes with output channels as lanes share: images with a border of zeros.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cpu/convolution_shape.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kLaneOutputs = 16;

// Floats of a row of the padded image.
inline std::int64_t padded_row(const ConvolutionShape& s) {
  return (s.width + 2 * s.pad) * s.inputs;
}
// Scratch for one padded image; none where there is no padding.
inline std::int64_t padded_floats(const ConvolutionShape& s) {
  return s.pad == 0 ? 0 : (s.height + 2 * s.pad) * padded_row(s);
}

// The image with its border: itself where there is none, else written to `padded`, whose border is
// zero already.
inline const float* padded_image(const ConvolutionShape& s, const float* image, float* padded) {
  if (s.pad == 0) return image;
  const std::int64_t floats = s.width * s.inputs;
  for (std::int64_t y = 0; y < s.height; ++y) {
    std::copy(image + y * floats, image + (y + 1) * floats,
              padded + (y + s.pad) * padded_row(s) + s.pad * s.inputs);
  }
  return padded;
}

}  // namespace lockstep::engine::cpu
