#include "engine/cpu/batch_norm_loops.h"

#include <cstring>
#include <limits>

#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {
namespace {

// Eight channels at a time: their sums stay in registers. Written as vectors, since GCC leaves the
// plain loops scalar or branches in them, at 20 times the cost.
constexpr std::int64_t kBlock = 8;
using Floats [[gnu::vector_size(kBlock * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kBlock * sizeof(double))]] = double;

}  // namespace

LOCKSTEP_MULTIVERSION void add_squares(const float* x, const Images& s, double* sums) {
  double* squares = sums + s.channels;
  std::int64_t c = 0;
  for (; c + kBlock <= s.channels; c += kBlock) {
    Doubles sum{}, square{};
    for (std::int64_t p = 0; p < s.pixels; ++p) {
      Floats values;
      std::memcpy(&values, x + p * s.channels + c, sizeof values);
      const Doubles v = __builtin_convertvector(values, Doubles);
      sum += v;
      square += v * v;
    }
    for (std::int64_t i = 0; i < kBlock; ++i) sums[c + i] += sum[i], squares[c + i] += square[i];
  }
  for (; c < s.channels; ++c) {
    double sum = 0, square = 0;
    for (std::int64_t p = 0; p < s.pixels; ++p) {
      const double v = static_cast<double>(x[p * s.channels + c]);
      sum += v;
      square += v * v;
    }
    sums[c] += sum;
    squares[c] += square;
  }
}

LOCKSTEP_MULTIVERSION void normalise_image(const Normalisation& n, const Tables& t,
                                           std::int64_t at) {
  const std::int64_t channels = n.images.channels;
  const float floor = n.relu ? 0.0F : -std::numeric_limits<float>::infinity();
  for (std::int64_t p = 0; p < n.images.pixels; ++p, at += channels) {
    const float* __restrict x = n.x + at;
    float* __restrict y = n.y + at;
    if (n.residual) {
      const float* __restrict residual = n.residual + at;
      for (std::int64_t c = 0; c < channels; ++c) {
        const float v = (x[c] - t.mean[c]) * t.scale[c] + t.shift[c] + residual[c];
        y[c] = floor > v ? floor : v;
      }
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        const float v = (x[c] - t.mean[c]) * t.scale[c] + t.shift[c];
        y[c] = floor > v ? floor : v;
      }
    }
  }
}

LOCKSTEP_MULTIVERSION void add_gradients(const BackwardSums& k, const BackwardPixels& pixels,
                                         double* sums) {
  const std::int64_t channels = k.images.channels;
  const float floor = k.relu ? 0.0F : -std::numeric_limits<float>::infinity();
  std::int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) {
    Doubles sum{}, product{};
    Floats mean, inverse;
    std::memcpy(&mean, k.mean + c, sizeof mean);
    std::memcpy(&inverse, k.inverse + c, sizeof inverse);
    for (std::int64_t p = 0; p < k.images.pixels; ++p) {
      Floats x, dy, y;
      std::memcpy(&x, pixels.x + p * channels + c, sizeof x);
      std::memcpy(&dy, pixels.dy + p * channels + c, sizeof dy);
      std::memcpy(&y, pixels.y + p * channels + c, sizeof y);
      const Floats passed = y > floor ? dy : Floats{};
      const Doubles d = __builtin_convertvector(passed, Doubles);
      sum += d;
      product += d * __builtin_convertvector((x - mean) * inverse, Doubles);
    }
    for (std::int64_t i = 0; i < kBlock; ++i) {
      sums[c + i] += sum[i];
      sums[channels + c + i] += product[i];
    }
  }
  for (; c < channels; ++c) {
    double sum = 0, product = 0;
    for (std::int64_t p = 0; p < k.images.pixels; ++p) {
      const std::int64_t at = p * channels + c;
      const double d = pixels.y[at] > floor ? static_cast<double>(pixels.dy[at]) : 0.0;
      sum += d;
      product += d * static_cast<double>((pixels.x[at] - k.mean[c]) * k.inverse[c]);
    }
    sums[c] += sum;
    sums[channels + c] += product;
  }
}

LOCKSTEP_MULTIVERSION void backward_image(const BackwardImages& k, const BackwardTables& t,
                                          std::int64_t at) {
  const float floor = k.relu ? 0.0F : -std::numeric_limits<float>::infinity();
  const std::int64_t channels = k.images.channels, end = at + k.images.elements();
  std::int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) {
    Floats mean, scale, mean_dy, slope;
    std::memcpy(&mean, t.mean + c, sizeof mean);
    std::memcpy(&scale, t.scale + c, sizeof scale);
    std::memcpy(&mean_dy, t.mean_dy + c, sizeof mean_dy);
    std::memcpy(&slope, t.slope + c, sizeof slope);
    for (std::int64_t i = at + c; i < end; i += channels) {
      Floats x, dy, y;
      std::memcpy(&x, k.x + i, sizeof x);
      std::memcpy(&dy, k.dy + i, sizeof dy);
      std::memcpy(&y, k.y + i, sizeof y);
      const Floats passed = y > floor ? dy : Floats{};
      const Floats dx = scale * (passed - mean_dy - (x - mean) * slope);
      std::memcpy(k.dx + i, &dx, sizeof dx);
      if (k.dresidual) std::memcpy(k.dresidual + i, &passed, sizeof passed);
    }
  }
  for (; c < channels; ++c) {
    for (std::int64_t i = at + c; i < end; i += channels) {
      const float passed = k.y[i] > floor ? k.dy[i] : 0.0F;
      k.dx[i] = t.scale[c] * (passed - t.mean_dy[c] - (k.x[i] - t.mean[c]) * t.slope[c]);
      if (k.dresidual) k.dresidual[i] = passed;
    }
  }
}

}  // namespace lockstep::engine::cpu
