// One optimizer step over a range of elements, fused into one pass. The optimizer nodes of an
// undistributed graph use it, and runtime/parallel runs it on each slice of a bucket as its sum
// lands.
#pragma once

#include <cstddef>
#include <string>

#include "engine/attributes.h"
#include "engine/device/step_state.h"
#include "engine/device/visibility.h"

namespace lockstep::engine::cpu {

// What an `sgd` or `adamw` node says in its attributes, once per parameter.
struct UpdateRule {
  enum class Kind { sgd, adamw } kind = Kind::sgd;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0;
  double weight_decay = 0;
};
[[nodiscard]] LOCKSTEP_API UpdateRule update_rule(const std::string& op,
                                                  const Attributes& attributes);

// `count` consecutive elements of a parameter, its gradient and its states (state1: adamw's v, else
// null).
struct UpdateRange {
  float* weight = nullptr;
  const float* gradient = nullptr;
  float* state0 = nullptr;
  float* state1 = nullptr;
  std::size_t count = 0;
};

// The words that steer a step (engine/ops/ops.h): early f64 [4], late f64 [2] or null.
struct UpdateWords {
  const StepState* state = nullptr;
  const double* early = nullptr;
  const double* late = nullptr;
};

// sgd, as torch: d = g*clip + decay*w; m = momentum*m + d (the first step: m = d, which zero states
// give);
//   w -= lr * (nesterov ? d + momentum*m : m).
// adamw, as torch: w -= lr*decay*w; m, v moving means of g and g*g; bias-corrected by the number of
// applied
//   steps + 1; w -= lr * mhat / (sqrt(vhat) + epsilon).
// Nothing is touched where early[3] is not zero. Elementwise: bits do not depend on how a bucket is
// cut.
LOCKSTEP_API void update_range(const UpdateRule& rule, const UpdateWords& words,
                               const UpdateRange& range);

}  // namespace lockstep::engine::cpu
