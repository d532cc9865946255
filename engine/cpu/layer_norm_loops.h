// The loops of layer normalisation over one row, in floats. Sums go by 32 lanes, which are added
// in a fixed order.
#pragma once

#include <cstdint>

namespace lockstep::engine::cpu {

struct RowStatistics {
  float mean;
  float inverse;  // 1 / standard deviation
};

// sum = x + residual. `sum` may be either.
void add_rows(const float* x, const float* residual, float* sum, std::int64_t columns);

[[nodiscard]] RowStatistics statistics_of(const float* x, std::int64_t columns, float epsilon);

struct Affine {
  const float* gamma;
  const float* beta;
};
// out = (x - mean) * inverse * gamma + beta. `out` may be `x`.
void normalise_row(const float* x, const RowStatistics& statistics, const Affine& affine,
                   float* out, std::int64_t columns);

struct BackwardRow {
  const float* x;
  const float* dy;
  const float* gamma;
  const float* more;  // added to dx; may be absent
  float* dx;          // may be `more` or `dy`
  float* dgamma;      // sums of columns, added to
  float* dbeta;
  std::int64_t columns;
};
void backward_row(const BackwardRow& row, const RowStatistics& statistics);

}  // namespace lockstep::engine::cpu
