#include "engine/cpu/pool_windows.h"

#include <limits>

#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {
namespace {

using Bytes [[gnu::vector_size(kVector)]] = std::uint8_t;

// In two steps, since GCC goes element by element where a type shrinks to a quarter.
[[gnu::always_inline]] inline void save_places(const Integers& places, std::int64_t count,
                                               std::uint8_t* to) {
  const auto halves = __builtin_convertvector(places, stored::HalfWords);
  const Bytes bytes = __builtin_convertvector(halves, Bytes);
  std::memcpy(to, &bytes, static_cast<std::size_t>(count));
}
[[gnu::always_inline]] inline void load_places(const std::uint8_t* from, std::int64_t count,
                                               Integers& places) {
  Bytes bytes{};
  std::memcpy(&bytes, from, static_cast<std::size_t>(count));
  const auto halves = __builtin_convertvector(bytes, stored::HalfWords);
  places = __builtin_convertvector(halves, Integers);
}

// What an axis has of a window, or of the windows over a pixel.
struct Stretch {
  std::int64_t begin, end;
};

// The part of a window that lies on the image.
[[gnu::always_inline]] inline Stretch on_image(std::int64_t start, std::int64_t size,
                                               std::int64_t extent) {
  return {std::max<std::int64_t>(0, start), std::min(extent, start + size)};
}

// The windows that cover a pixel.
[[gnu::always_inline]] inline Stretch over_pixel(const PoolShape& s, std::int64_t pixel,
                                                 std::int64_t windows) {
  const std::int64_t padded = pixel + s.pad;
  return {padded < s.size ? 0 : (padded - s.size) / s.stride + 1,
          std::min(windows, padded / s.stride + 1)};
}

struct Window {
  std::int64_t image, top, left;
  Stretch rows, columns;
};

template <Storage S>
[[gnu::always_inline]] inline void pool_vector(const WindowPool& k, const Window& w, std::int64_t c,
                                               std::int64_t count, std::int64_t to) {
  const PoolShape& s = k.shape;
  const auto place_of = [&](std::int64_t row, std::int64_t column) __attribute__((always_inline)) {
    return static_cast<std::int32_t>((row - w.top) * s.size + column - w.left);
  };
  const Integers ones = Integers{} + 1;
  Floats best = Floats{} + (s.relu ? 0.0F : -std::numeric_limits<float>::infinity());
  Integers place = Integers{} + (s.relu ? kReluGaveZero : place_of(w.rows.begin, w.columns.begin));
  for (std::int64_t row = w.rows.begin; row < w.rows.end; ++row) {
    for (std::int64_t column = w.columns.begin; column < w.columns.end; ++column) {
      Floats x;
      load<S>(k.x, ((w.image * s.height + row) * s.width + column) * s.channels + c, count, x);
      // Integers in between, since GCC goes element by element through a conjunction of masks.
      const Integers larger = x > best ? ones : Integers{};
      const Integers nan = x != x ? ones : Integers{};
      const Integers open = best == best ? ones : Integers{};
      const Integers wins = larger | (nan & open);
      best = wins != Integers{} ? x : best;
      place = wins != Integers{} ? Integers{} + place_of(row, column) : place;
    }
  }
  save<S>(best, count, k.y, to + c);
  save_places(place, count, k.index + to + c);
}

template <Storage S>
[[gnu::always_inline]] inline void pool_row(const WindowPool k, const ImageRow at) {
  const PoolShape& s = k.shape;
  const std::int64_t top = at.row * s.stride - s.pad;
  std::int64_t to = (at.image * s.out_height + at.row) * s.out_width * s.channels;
  for (std::int64_t window = 0; window < s.out_width; ++window, to += s.channels) {
    const std::int64_t left = window * s.stride - s.pad;
    const Window w{at.image, top, left, on_image(top, s.size, s.height),
                   on_image(left, s.size, s.width)};
    for_vectors(
        s.channels, [&](std::int64_t c, std::int64_t count)
                        __attribute__((always_inline)) { pool_vector<S>(k, w, c, count, to); });
  }
}

// A pixel and the windows over it.
struct Pixel {
  std::int64_t image, row, column;
  Stretch rows, columns;
};

template <Storage S>
[[gnu::always_inline]] inline void gather_vector(const WindowPoolBackward& k, const Pixel& p,
                                                 std::int64_t c, std::int64_t count,
                                                 std::int64_t to) {
  const PoolShape& s = k.shape;
  Floats sum{};
  for (std::int64_t row = p.rows.begin; row < p.rows.end; ++row) {
    for (std::int64_t column = p.columns.begin; column < p.columns.end; ++column) {
      const std::int64_t from =
          ((p.image * s.out_height + row) * s.out_width + column) * s.channels + c;
      const std::int64_t place =
          (p.row - (row * s.stride - s.pad)) * s.size + p.column - (column * s.stride - s.pad);
      Integers chosen;
      load_places(k.index + from, count, chosen);
      Floats dy;
      load<S>(k.dy, from, count, dy);
      sum += chosen == Integers{} + static_cast<std::int32_t>(place) ? dy : Floats{};
    }
  }
  save<S>(sum, count, k.dx, to + c);
}

template <Storage S>
[[gnu::always_inline]] inline void gather_row(const WindowPoolBackward k, const ImageRow at) {
  const PoolShape& s = k.shape;
  const Stretch rows = over_pixel(s, at.row, s.out_height);
  std::int64_t to = (at.image * s.height + at.row) * s.width * s.channels;
  for (std::int64_t column = 0; column < s.width; ++column, to += s.channels) {
    const Pixel p{at.image, at.row, column, rows, over_pixel(s, column, s.out_width)};
    for_vectors(
        s.channels, [&](std::int64_t c, std::int64_t count)
                        __attribute__((always_inline)) { gather_vector<S>(k, p, c, count, to); });
  }
}

}  // namespace

LOCKSTEP_MULTIVERSION void pool_windows(const WindowPool& pool, const ImageRow& at) {
  switch (storage_of({pool.x, as_input(pool.y)})) {
    case Storage::f32:
      return pool_row<Storage::f32>(pool, at);
    case Storage::bf16:
      return pool_row<Storage::bf16>(pool, at);
    case Storage::mixed:
      return pool_row<Storage::mixed>(pool, at);
  }
}

LOCKSTEP_MULTIVERSION void pool_windows_backward(const WindowPoolBackward& pool,
                                                 const ImageRow& at) {
  switch (storage_of({pool.dy, as_input(pool.dx)})) {
    case Storage::f32:
      return gather_row<Storage::f32>(pool, at);
    case Storage::bf16:
      return gather_row<Storage::bf16>(pool, at);
    case Storage::mixed:
      return gather_row<Storage::mixed>(pool, at);
  }
}

}  // namespace lockstep::engine::cpu
