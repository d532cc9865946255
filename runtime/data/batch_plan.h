// Who computes which samples of a step. Pure arithmetic: no data, no randomness.
//
// A step's global batch is cut into world x accumulate shares, one a (micro, rank), in that order:
// the shares of micro-step 0 come first. Where the batch does not divide, the first shares get one
// sample more. All shares have the same capacity; what a share has less is padding, of weight 0.
// Training drops an epoch's tail (what is left after the last whole batch); evaluation pads the
// last batch, so that every sample counts once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device/visibility.h"

namespace lockstep::runtime::data {

enum class Mode : std::uint8_t { training, evaluation };

struct BatchPlanOptions {
  std::int64_t samples = 0;  // of the data set
  std::int64_t batch = 0;    // over all workers and micro-steps
  std::int64_t world = 1;
  std::int64_t accumulate = 1;  // micro-steps a step; evaluation has 1
  Mode mode = Mode::training;
};

// A share: `count` consecutive positions of the epoch's order, the rest up to the capacity is
// padding.
struct ShareRange {
  std::int64_t first_position = 0;  // in the epoch's order, of the share's first sample
  std::int64_t first_row = 0;       // index of that sample in the global batch
  std::int64_t count = 0;           // samples; may be 0 in the last step of an evaluation
};

class LOCKSTEP_API BatchPlan {
 public:
  // Throws DataError where a number is below 1, there are more shares than samples, the batch has
  // fewer samples than shares, or training has less than one batch.
  explicit BatchPlan(const BatchPlanOptions& options);

  [[nodiscard]] const BatchPlanOptions& options() const { return options_; }
  [[nodiscard]] std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // Samples at an epoch's end that training does not visit; another order's tail each epoch. 0 for
  // evaluation.
  [[nodiscard]] std::int64_t dropped() const;
  // Rows of every share: the batch dimension of a micro-step's plan.
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  // Samples of a step over all workers and micro-steps: the step's global weight. REQUIRES: step <
  // steps_per_epoch().
  [[nodiscard]] std::int64_t global_count(std::int64_t step) const;
  // REQUIRES: step < steps_per_epoch(), rank < world, micro < accumulate.
  [[nodiscard]] ShareRange share(std::int64_t step, std::int64_t rank, std::int64_t micro) const;

 private:
  BatchPlanOptions options_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t capacity_ = 0;
};

}  // namespace lockstep::runtime::data
