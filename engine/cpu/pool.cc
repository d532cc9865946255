// Max pooling, with relu where asked for; average pooling over whole images. The first of equal
// elements of a window wins, in row-major order; NaN wins over all. Windows in f32 that neither
// overlap nor hang over the edge, as small networks have them, have loops of their own.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/pool_rows.h"
#include "engine/cpu/pool_shape.h"
#include "engine/cpu/pool_windows.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

// One row of windows of one image. Channels, where not 0, are those of the shape, known when this
// is compiled: loops over a few channels are then unrolled.
template <std::int64_t Channels>
[[gnu::always_inline]] inline void pool_few(const PoolShape& s, const float* __restrict x,
                                            float* __restrict y, std::uint8_t* __restrict index) {
  const std::int64_t channels = Channels > 0 ? Channels : s.channels;
  const float floor = s.relu ? 0.0F : -std::numeric_limits<float>::infinity();
  const std::uint8_t none = s.relu ? kReluGaveZero : std::uint8_t{0};
  for (std::int64_t window = 0; window < s.out_width; ++window) {
    const float* corner = x + window * s.stride * channels;
    float* best = y + window * channels;
    std::uint8_t* place = index + window * channels;
    for (std::int64_t c = 0; c < channels; ++c) best[c] = floor, place[c] = none;
    std::uint8_t here = 0;
    for (std::int64_t row = 0; row < s.size; ++row) {
      for (std::int64_t column = 0; column < s.size; ++column, ++here) {
        const float* from = corner + (row * s.width + column) * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
          const bool wins = from[c] > best[c] || (from[c] != from[c] && best[c] == best[c]);
          place[c] = wins ? here : place[c];
          best[c] = wins ? from[c] : best[c];
        }
      }
    }
  }
}

LOCKSTEP_MULTIVERSION void max_pool_row(const PoolShape& s, const float* x, float* y,
                                        std::uint8_t* index) {
  if (s.channels == 6) return pool_few<6>(s, x, y, index);
  if (s.channels == 16) return pool_few<16>(s, x, y, index);
  pool_few<0>(s, x, y, index);
}

template <std::int64_t Channels>
[[gnu::always_inline]] inline void spread_few(const PoolShape& s, const float* __restrict dy,
                                              const std::uint8_t* __restrict index,
                                              float* __restrict dx) {
  const std::int64_t channels = Channels > 0 ? Channels : s.channels;
  for (std::int64_t window = 0; window < s.out_width; ++window) {
    const float* gradient = dy + window * channels;
    const std::uint8_t* place = index + window * channels;
    std::uint8_t here = 0;
    for (std::int64_t row = 0; row < s.size; ++row) {
      for (std::int64_t column = 0; column < s.size; ++column, ++here) {
        float* to = dx + (window * s.stride + row * s.width + column) * channels;
        for (std::int64_t c = 0; c < channels; ++c) to[c] = place[c] == here ? gradient[c] : 0.0F;
      }
    }
  }
}

// The rows of dx that one row of windows covers; `rows` may be more than the windows' size.
LOCKSTEP_MULTIVERSION void max_pool_backward_row(const PoolShape& s, const float* dy,
                                                 const std::uint8_t* index, float* dx,
                                                 std::int64_t rows) {
  const bool covered = s.out_width * s.size == s.width && rows == s.size;
  if (!covered) std::fill(dx, dx + rows * s.width * s.channels, 0.0F);
  if (s.channels == 6) return spread_few<6>(s, dy, index, dx);
  if (s.channels == 16) return spread_few<16>(s, dy, index, dx);
  spread_few<0>(s, dy, index, dx);
}

bool apart(const PoolShape& s) {
  return s.pad == 0 && s.stride >= s.size;
}

Kernel bind_max_pool(const Context& context, const Binding& b) {
  const PoolShape s = pool_shape(b.input(0).shape, b.output(0).shape, b.node.attributes);
  const WindowPool any{s, stored_input(b, 0), stored_output(b, 0), b.out<std::uint8_t>(1)};
  if (!apart(s) || any.x.low || any.y.low) {
    return [context, any] {
      for_pieces(context.threads, any.shape.images * any.shape.out_height, [&](std::int64_t i) {
        pool_windows(any, {i / any.shape.out_height, i % any.shape.out_height});
      });
    };
  }
  const PoolRow hand_written = pool_row(context.isa, s);
  const PoolRow row_of = hand_written ? hand_written : max_pool_row;
  return [context, s, row_of, x = b.in<float>(0), y = b.out<float>(0),
          index = b.out<std::uint8_t>(1)] {
    for_pieces(context.threads, s.images * s.out_height, [&](std::int64_t i) {
      const std::int64_t n = i / s.out_height, row = i % s.out_height;
      const std::int64_t to = i * s.out_width * s.channels;
      row_of(s, x + (n * s.height + row * s.stride) * s.width * s.channels, y + to, index + to);
    });
  };
}

Kernel bind_max_pool_backward(const Context& context, const Binding& b) {
  const PoolShape s = pool_shape(b.output(0).shape, b.input(0).shape, b.node.attributes);
  const WindowPoolBackward any{s, stored_input(b, 0), b.in<std::uint8_t>(1), stored_output(b, 0)};
  if (!apart(s) || any.dy.low || any.dx.low) {
    return [context, any] {
      for_pieces(context.threads, any.shape.images * any.shape.height, [&](std::int64_t i) {
        pool_windows_backward(any, {i / any.shape.height, i % any.shape.height});
      });
    };
  }
  const PoolBackwardRow row_of = pool_backward_row(context.isa, s);
  return [context, s, row_of, dy = b.in<float>(0), index = b.in<std::uint8_t>(1),
          dx = b.out<float>(0)] {
    for_pieces(context.threads, s.images * s.out_height, [&](std::int64_t i) {
      const std::int64_t n = i / s.out_height, row = i % s.out_height;
      const std::int64_t from = i * s.out_width * s.channels;
      const std::int64_t first = row * s.stride;
      const std::int64_t rows = (row + 1 == s.out_height ? s.height : first + s.stride) - first;
      float* to = dx + (n * s.height + first) * s.width * s.channels;
      if (!row_of) return max_pool_backward_row(s, dy + from, index + from, to, rows);
      row_of(s, dy + from, index + from, to);
      const std::int64_t row_elements = s.width * s.channels;  // rows that no window covers
      std::fill(to + s.size * row_elements, to + rows * row_elements, 0.0F);
    });
  };
}

// A value a channel and all pixels of an image.
struct Average {
  std::int64_t pixels, channels;
  StoredInput from;
  StoredOutput to;
};

LOCKSTEP_MULTIVERSION void average_image(const Average& image_average, std::int64_t image) {
  const Average k = image_average;
  const float scale = 1.0F / static_cast<float>(k.pixels);
  for_vectors(
      k.channels, [&](std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
        Floats sum{};
        for (std::int64_t p = 0; p < k.pixels; ++p) {
          Floats x;
          load<Storage::mixed>(k.from, (image * k.pixels + p) * k.channels + c, count, x);
          sum += x;
        }
        save<Storage::mixed>(sum * scale, count, k.to, image * k.channels + c);
      });
}

LOCKSTEP_MULTIVERSION void spread_image(const Average& image_average, std::int64_t image) {
  const Average k = image_average;
  const float scale = 1.0F / static_cast<float>(k.pixels);
  for (std::int64_t p = 0; p < k.pixels; ++p) {
    for_vectors(
        k.channels, [&](std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
          Floats dy;
          load<Storage::mixed>(k.from, image * k.channels + c, count, dy);
          save<Storage::mixed>(dy * scale, count, k.to, (image * k.pixels + p) * k.channels + c);
        });
  }
}

// `image`: the shape of the side that has pixels.
Kernel bind_average(const Context& context, const Binding& b, const Shape& image,
                    void (*of_image)(const Average&, std::int64_t)) {
  const Average k{image[1] * image[2], image[3], stored_input(b, 0), stored_output(b, 0)};
  return [context, k, of_image, images = image[0]] {
    for_pieces(context.threads, images, [&](std::int64_t i) { of_image(k, i); });
  };
}

}  // namespace

Family pool_kernels(const Context& context) {
  auto with = [&context](auto bind) {
    return [context, bind](const Binding& binding) { return bind(context, binding); };
  };
  auto average = [context](const Binding& b) {
    return bind_average(context, b, b.input(0).shape, average_image);
  };
  auto average_backward = [context](const Binding& b) {
    return bind_average(context, b, b.output(0).shape, spread_image);
  };
  return {{.op = "max_pool", .bind = with(bind_max_pool)},
          {.op = "max_pool_backward", .bind = with(bind_max_pool_backward)},
          {.op = "average_pool", .bind = average},
          {.op = "average_pool_backward", .bind = average_backward}};
}

}  // namespace lockstep::engine::cpu
