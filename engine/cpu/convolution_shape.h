// The extents of a convolution, the same for its three passes: x [images, height, width, inputs],
// w [outputs, inputs, kernel_h, kernel_w], y [images, out_height, out_width, outputs].
#pragma once

#include <cstdint>

#include "engine/graph.h"

namespace lockstep::engine::cpu {

struct ConvolutionShape {
  std::int64_t images = 0, height = 0, width = 0, inputs = 0;
  std::int64_t outputs = 0, kernel_h = 0, kernel_w = 0;
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t stride = 1, pad = 0;
};

[[nodiscard]] inline ConvolutionShape convolution_shape(const Shape& x, const Shape& w,
                                                        const Shape& y,
                                                        const Attributes& attributes) {
  return {.images = x[0],
          .height = x[1],
          .width = x[2],
          .inputs = x[3],
          .outputs = w[0],
          .kernel_h = w[2],
          .kernel_w = w[3],
          .out_height = y[1],
          .out_width = y[2],
          .stride = attributes.integer("stride"),
          .pad = attributes.integer("pad")};
}

}  // namespace lockstep::engine::cpu
