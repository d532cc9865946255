// Written as vectors, since GCC leaves the plain loops scalar or branches in them, at 20 times the
// cost. Operands are copied to locals, which a store through a byte pointer cannot change.
#include "engine/cpu/batch_norm_loops.h"

#include <limits>
#include <type_traits>

#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {
namespace {

// Pixels whose sums stay in registers before they are added to those in memory.
constexpr std::int64_t kRun = 8;

// Half a vector in double precision.
constexpr std::int64_t kHalf = kVector / 2;
using HalfFloats [[gnu::vector_size(kHalf * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kHalf * sizeof(double))]] = double;

template <int Half>
[[gnu::always_inline]] inline void widen(const Floats& values, Doubles& to) {
  HalfFloats half;
  std::memcpy(&half, reinterpret_cast<const char*>(&values) + Half * sizeof half, sizeof half);
  to = __builtin_convertvector(half, Doubles);
}

[[gnu::always_inline]] inline void add_half(const Doubles& values, double* to) {
  Doubles all;
  std::memcpy(&all, to, sizeof all);
  all += values;
  std::memcpy(to, &all, sizeof all);
}

// The sums of a run for a vector of channels: of a, and of a times b. In double precision.
class LongRun {
 public:
  [[gnu::always_inline]] void add(const Floats& a, const Floats& b) {
    add_product<0>(a, b);
    add_product<1>(a, b);
  }
  [[gnu::always_inline]] void add_to(const Sums& sums, std::int64_t c) const {
    for (int half = 0; half < 2; ++half) {
      add_half(first_[half], sums.first + c + half * kHalf);
      add_half(second_[half], sums.second + c + half * kHalf);
    }
  }

 private:
  template <int Half>
  [[gnu::always_inline]] void add_product(const Floats& a, const Floats& b) {
    Doubles wide_a, wide_b;
    widen<Half>(a, wide_a);
    widen<Half>(b, wide_b);
    first_[Half] += wide_a;
    second_[Half] += wide_a * wide_b;
  }
  Doubles first_[2] = {}, second_[2] = {};
};

// As LongRun, in single precision until they are added to the others: half the work. bf16
// values and their squares are exact in it, and what a gradient loses is far below its rounding.
class ShortRun {
 public:
  [[gnu::always_inline]] void add(const Floats& a, const Floats& b) {
    first_ += a;
    second_ += a * b;
  }
  [[gnu::always_inline]] void add_to(const Sums& sums, std::int64_t c) const {
    add_wide(first_, sums.first + c);
    add_wide(second_, sums.second + c);
  }

 private:
  [[gnu::always_inline]] static void add_wide(const Floats& values, double* to) {
    Doubles wide;
    widen<0>(values, wide);
    add_half(wide, to);
    widen<1>(values, wide);
    add_half(wide, to + kHalf);
  }
  Floats first_{}, second_{};
};

// A run of at most kRun pixels, of which the first begins at element `at`.
struct Run {
  std::int64_t at, pixels, channels;
};

// Calls sum_channels(run, c, count) for the vectors of channels of each run.
template <class SumChannels>
[[gnu::always_inline]] inline void for_runs(const Pixels& p, const SumChannels& sum_channels) {
  for (std::int64_t done = 0; done < p.count; done += kRun) {
    const Run run{p.first + done * p.channels, std::min(kRun, p.count - done), p.channels};
    std::int64_t c = 0;
    if (run.pixels == kRun) {
      for (; c + kVector <= p.channels; c += kVector) {
        sum_channels(Run{run.at, kRun, run.channels}, c, kVector);
      }
    }
    for (; c < p.channels; c += kVector) {
      sum_channels(run, c, std::min(kVector, p.channels - c));
    }
  }
}

// Calls work(element, c, count) for the vectors of channels of each pixel.
template <class Work>
[[gnu::always_inline]] inline void for_pixels(const Pixels& p, const Work& work) {
  for (std::int64_t pixel = 0, at = p.first; pixel < p.count; ++pixel, at += p.channels) {
    for_vectors(
        p.channels, [&](std::int64_t c, std::int64_t count)
                        __attribute__((always_inline)) { work(at + c, c, count); });
  }
}

template <Storage S>
[[gnu::always_inline]] inline void squares_loop(const StoredInput x, const Pixels p,
                                                const Sums sums) {
  using RunSums = std::conditional_t<S == Storage::bf16, ShortRun, LongRun>;
  for_runs(
      p, [&](Run run, std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
        RunSums mine;
        for (std::int64_t r = 0; r < run.pixels; ++r) {
          Floats values;
          load<S>(x, run.at + r * run.channels + c, count, values);
          mine.add(values, values);
        }
        mine.add_to(sums, c);
      });
}

template <Storage S>
[[gnu::always_inline]] inline void normalise_loop(const Normalisation n, const Tables t,
                                                  const Pixels p) {
  const Floats floor = Floats{} + (n.relu ? 0.0F : -std::numeric_limits<float>::infinity());
  for_pixels(
      p, [&](std::int64_t at, std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
        Floats v, mean, scale, shift;
        load<S>(n.x, at, count, v);
        read(t.mean + c, mean);
        read(t.scale + c, scale);
        read(t.shift + c, shift);
        v = (v - mean) * scale + shift;
        if (n.residual.present()) {
          Floats residual;
          load<S>(n.residual, at, count, residual);
          v += residual;
        }
        v = floor > v ? floor : v;
        save<S>(v, count, n.y, at);
      });
}

// dy where the relu let y pass.
template <Storage S, class Pass>
[[gnu::always_inline]] inline void load_passed(const Pass& k, std::int64_t at, std::int64_t count,
                                               Floats& passed) {
  load<S>(k.dy, at, count, passed);
  if (!k.y.present()) return;
  Floats y;
  load<S>(k.y, at, count, y);
  passed = y > Floats{} ? passed : Floats{};
}

template <Storage S>
[[gnu::always_inline]] inline void gradients_loop(const BackwardSums k, const Pixels p,
                                                  const Sums sums) {
  for_runs(
      p, [&](Run run, std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
        ShortRun mine;
        Floats mean, inverse;
        read(k.mean + c, mean);
        read(k.inverse + c, inverse);
        for (std::int64_t r = 0; r < run.pixels; ++r) {
          const std::int64_t at = run.at + r * run.channels + c;
          Floats x, passed;
          load<S>(k.x, at, count, x);
          load_passed<S>(k, at, count, passed);
          mine.add(passed, (x - mean) * inverse);
        }
        mine.add_to(sums, c);
      });
}

template <Storage S>
[[gnu::always_inline]] inline void backward_loop(const BackwardImages k, const BackwardTables t,
                                                 const Pixels p) {
  for_pixels(
      p, [&](std::int64_t at, std::int64_t c, std::int64_t count) __attribute__((always_inline)) {
        Floats x, passed, mean, scale, mean_dy, slope;
        load<S>(k.x, at, count, x);
        load_passed<S>(k, at, count, passed);
        read(t.mean + c, mean);
        read(t.scale + c, scale);
        read(t.mean_dy + c, mean_dy);
        read(t.slope + c, slope);
        save<S>(scale * (passed - mean_dy - (x - mean) * slope), count, k.dx, at);
        if (k.dresidual.present()) save<S>(passed, count, k.dresidual, at);
      });
}

}  // namespace

LOCKSTEP_MULTIVERSION void add_squares(const StoredInput& x, const Pixels& pixels,
                                       const Sums& sums) {
  if (x.low) return squares_loop<Storage::bf16>(x, pixels, sums);
  squares_loop<Storage::f32>(x, pixels, sums);
}

LOCKSTEP_MULTIVERSION void normalise(const Normalisation& n, const Tables& tables,
                                     const Pixels& pixels) {
  switch (storage_of({n.x, n.residual, as_input(n.y)})) {
    case Storage::f32:
      return normalise_loop<Storage::f32>(n, tables, pixels);
    case Storage::bf16:
      return normalise_loop<Storage::bf16>(n, tables, pixels);
    case Storage::mixed:
      return normalise_loop<Storage::mixed>(n, tables, pixels);
  }
}

LOCKSTEP_MULTIVERSION void add_gradients(const BackwardSums& k, const Pixels& pixels,
                                         const Sums& sums) {
  switch (storage_of({k.x, k.dy, k.y})) {
    case Storage::f32:
      return gradients_loop<Storage::f32>(k, pixels, sums);
    case Storage::bf16:
      return gradients_loop<Storage::bf16>(k, pixels, sums);
    case Storage::mixed:
      return gradients_loop<Storage::mixed>(k, pixels, sums);
  }
}

LOCKSTEP_MULTIVERSION void backward(const BackwardImages& k, const BackwardTables& tables,
                                    const Pixels& pixels) {
  switch (storage_of({k.x, k.dy, k.y, as_input(k.dx), as_input(k.dresidual)})) {
    case Storage::f32:
      return backward_loop<Storage::f32>(k, tables, pixels);
    case Storage::bf16:
      return backward_loop<Storage::bf16>(k, tables, pixels);
    case Storage::mixed:
      return backward_loop<Storage::mixed>(k, tables, pixels);
  }
}

}  // namespace lockstep::engine::cpu
