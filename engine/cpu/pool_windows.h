// Max pooling over any windows, which may overlap and hang over the image's edge, in either storage
// type. The backward pass gathers: each pixel adds up, in the windows' order, the gradients of
// those that chose it, so that no two threads write to one place.
#pragma once

#include "engine/cpu/pool_shape.h"
#include "engine/cpu/stored.h"

namespace lockstep::engine::cpu {

// A row of an image: of windows forward, of pixels backward.
struct ImageRow {
  std::int64_t image, row;
};

struct WindowPool {
  PoolShape shape;
  StoredInput x;
  StoredOutput y;
  std::uint8_t* index;
};
void pool_windows(const WindowPool& pool, const ImageRow& at);

struct WindowPoolBackward {
  PoolShape shape;
  StoredInput dy;
  const std::uint8_t* index;
  StoredOutput dx;
};
void pool_windows_backward(const WindowPoolBackward& pool, const ImageRow& at);

}  // namespace lockstep::engine::cpu
