// The extents of a max pooling, the same for both passes.
#pragma once

#include <cstdint>

#include "engine/graph.h"

namespace lockstep::engine::cpu {

struct PoolShape {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t size = 0, stride = 0, pad = 0;
  bool relu = false;
};

// Index of a window whose largest element relu turned into 0.
inline constexpr std::uint8_t kReluGaveZero = 255;

[[nodiscard]] inline PoolShape pool_shape(const Shape& image, const Shape& pooled,
                                          const Attributes& attributes) {
  return {.images = image[0],
          .height = image[1],
          .width = image[2],
          .channels = image[3],
          .out_height = pooled[1],
          .out_width = pooled[2],
          .size = attributes.integer("size"),
          .stride = attributes.integer("stride"),
          .pad = attributes.integer_or("pad", 0),
          .relu = attributes.integer_or("relu", 0) != 0};
}

}  // namespace lockstep::engine::cpu
