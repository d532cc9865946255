// The optimizer as a job describes it, and its learning rate over time.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/attributes.h"
#include "engine/device/visibility.h"

namespace lockstep::engine {

enum class ScheduleKind { constant, cosine, step, linear };

// Warm-up rises linearly from peak/warmup_steps to peak; then `kind` takes over.
struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 0.1;
  double final = 0.0;  // cosine, linear: the value at decay_steps
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // counted from step 0, warm-up included
  Integers milestones = {};      // step: at each of these steps the rate is multiplied by
  double factor = 0.1;           //       this
};

// Learning rate of optimizer step `step` (the first is 0). Pure.
[[nodiscard]] LOCKSTEP_API double learning_rate(const Schedule& schedule, std::uint64_t step);

// A schedule as the attributes of an advance_state node, and back.
[[nodiscard]] LOCKSTEP_API Attributes to_attributes(const Schedule& schedule);
[[nodiscard]] LOCKSTEP_API Schedule schedule_from(const Attributes& attributes);

enum class OptimizerKind { sgd, adamw };
enum class DecayOn { matrices, all };  // matrices: parameters of two and more extents

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::sgd;
  Schedule schedule;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;
  DecayOn decay_on = DecayOn::matrices;
  std::optional<double> clip_norm;  // largest global gradient norm; none: no clipping
};

}  // namespace lockstep::engine
