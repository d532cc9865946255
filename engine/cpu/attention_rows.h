// The loops of attention over rows of floats: queries by the keys of one block, and a head's rows
// on their way between the matrices of all heads and its own panels.
#pragma once

#include <cstdint>

#include "engine/cpu/element_types.h"
#include "engine/cpu/kernels.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kAttentionBlock = 64;  // queries and keys of a block

// Scores of some queries for a block of keys; rows begin kAttentionBlock apart. Row r sees the
// first `seen + r` keys, as far as the block has them.
struct ScoreRows {
  float* scores;
  std::int64_t rows;
  std::int64_t seen;
  [[nodiscard]] std::int64_t seen_by(std::int64_t r) const {
    return seen + r < kAttentionBlock ? seen + r : kAttentionBlock;
  }
};

// What a query's softmax is so far: exp(score - peak) is summed.
struct RunningSoftmax {
  float* peak;
  float* sum;
  float* rescale;  // what sums of the blocks before this one must be multiplied by
};

// Scores become exp(score - peak), 0 for keys that are not seen.
void softmax_rows(Isa isa, const ScoreRows& rows, const RunningSoftmax& softmax);

// x[r, c] *= factor[r].
void scale_rows(float* x, const float* factor, std::int64_t rows, std::int64_t columns);

// One query. Scores become probabilities exp(score - lse), times the drop factors where there are
// any; gradients of the dropped probabilities become gradients of the scores:
// probability * (gradient * factor - delta). Both are 0 for keys that are not seen, up to
// `columns`, a multiple of 16.
struct GradientRow {
  float* scores;
  float* gradients;
  const float* factors;  // may be absent
  float lse;
  float delta;  // sum over keys of probability * gradient, dropped ones 0
  std::int64_t seen;
  std::int64_t columns;
};
void gradient_row(const GradientRow& row);

// One head's columns of some rows of a matrix.
struct HeadRows {
  StoredFloats matrix;
  std::int64_t first, stride;  // elements
  std::int64_t rows, width;
};
// to[r, c] = scale * matrix[r, c], with zeros up to `padded_rows` and `padded_width`.
struct Panel {
  float* at;
  std::int64_t padded_rows, padded_width;
};
void pack_rows(const HeadRows& from, float scale, const Panel& to);
// matrix[r, c] = scale * panel[r, c].
void unpack_rows(const Panel& from, float scale, const HeadRows& to);

// dots[r] = sum over c of a[r, c] * b[r, c]. REQUIRES: width is a multiple of 16.
void row_dots(const Panel& a, const float* b, std::int64_t rows, float* dots);

}  // namespace lockstep::engine::cpu
