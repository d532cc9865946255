#include "engine/cpu/layer_norm_loops.h"

#include <cmath>

#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {
namespace {

// GCC keeps the lanes in registers where it is told not to unroll the loops over them.
constexpr std::int64_t kLanes = 32;

[[gnu::always_inline]] inline float total(const float* lanes) {
  float sum = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

}  // namespace

LOCKSTEP_MULTIVERSION void add_rows(const float* x, const float* residual, float* sum,
                                    std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sum[c] = x[c] + residual[c];
}

LOCKSTEP_MULTIVERSION RowStatistics statistics_of(const float* x, std::int64_t columns,
                                                  float epsilon) {
  float sums[kLanes] = {}, squares[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
#pragma GCC unroll 1
    for (std::int64_t l = 0; l < kLanes; ++l) sums[l] += x[c + l];
  }
  for (std::int64_t l = 0; c + l < columns; ++l) sums[l] += x[c + l];
  const float mean = total(sums) / static_cast<float>(columns);
  for (c = 0; c + kLanes <= columns; c += kLanes) {
#pragma GCC unroll 1
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const float d = x[c + l] - mean;
      squares[l] += d * d;
    }
  }
  for (std::int64_t l = 0; c + l < columns; ++l)
    squares[l] += (x[c + l] - mean) * (x[c + l] - mean);
  const float variance = total(squares) / static_cast<float>(columns);
  return {mean, 1.0F / std::sqrt(variance + epsilon)};
}

LOCKSTEP_MULTIVERSION void normalise_row(const float* x, const RowStatistics& statistics,
                                         const Affine& affine, float* out, std::int64_t columns) {
  const float mean = statistics.mean, inverse = statistics.inverse;
  const float *gamma = affine.gamma, *beta = affine.beta;
  for (std::int64_t c = 0; c < columns; ++c) {
    out[c] = (x[c] - mean) * inverse * gamma[c] + beta[c];
  }
}

// dx = inverse * (g - mean(g) - xhat * mean(g * xhat)), where g = dy * gamma.
LOCKSTEP_MULTIVERSION void backward_row(const BackwardRow& row, const RowStatistics& statistics) {
  const float mean = statistics.mean, inverse = statistics.inverse;
  const std::int64_t columns = row.columns;
  const float *x = row.x, *dy = row.dy, *gamma = row.gamma;
  float* __restrict dgamma = row.dgamma;
  float* __restrict dbeta = row.dbeta;
  float sums[kLanes] = {}, products[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
#pragma GCC unroll 1
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const float normal = (x[c + l] - mean) * inverse, d = dy[c + l], g = d * gamma[c + l];
      sums[l] += g;
      products[l] += g * normal;
      dgamma[c + l] += d * normal;
      dbeta[c + l] += d;
    }
  }
  for (std::int64_t l = 0; c + l < columns; ++l) {
    const float normal = (x[c + l] - mean) * inverse, d = dy[c + l], g = d * gamma[c + l];
    sums[l] += g;
    products[l] += g * normal;
    dgamma[c + l] += d * normal;
    dbeta[c + l] += d;
  }
  const float shift = total(sums) / static_cast<float>(columns);
  const float slope = total(products) / static_cast<float>(columns);
  float* dx = row.dx;
  if (const float* more = row.more) {
    for (c = 0; c < columns; ++c) {
      const float normal = (x[c] - mean) * inverse;
      dx[c] = inverse * (dy[c] * gamma[c] - shift - normal * slope) + more[c];
    }
  } else {
    for (c = 0; c < columns; ++c) {
      const float normal = (x[c] - mean) * inverse;
      dx[c] = inverse * (dy[c] * gamma[c] - shift - normal * slope);
    }
  }
}

}  // namespace lockstep::engine::cpu
