#include "engine/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::engine {

double learning_rate(const Schedule& schedule, std::uint64_t step) {
  const auto at = static_cast<std::int64_t>(step);
  if (at < schedule.warmup_steps) {
    return schedule.peak * static_cast<double>(at + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const double span =
      static_cast<double>(std::max<std::int64_t>(1, schedule.decay_steps - schedule.warmup_steps));
  const double done = std::min(1.0, static_cast<double>(at - schedule.warmup_steps) / span);
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return schedule.peak;
    case ScheduleKind::linear:
      return schedule.peak + (schedule.final - schedule.peak) * done;
    case ScheduleKind::cosine:
      return schedule.final +
             (schedule.peak - schedule.final) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case ScheduleKind::step: {
      const auto passed = std::count_if(schedule.milestones.begin(), schedule.milestones.end(),
                                        [&](std::int64_t milestone) { return milestone <= at; });
      return schedule.peak * std::pow(schedule.factor, static_cast<double>(passed));
    }
  }
  return schedule.peak;
}

Attributes to_attributes(const Schedule& schedule) {
  return {{"schedule", static_cast<std::int64_t>(schedule.kind)},
          {"peak", schedule.peak},
          {"final", schedule.final},
          {"warmup_steps", schedule.warmup_steps},
          {"decay_steps", schedule.decay_steps},
          {"milestones", schedule.milestones},
          {"factor", schedule.factor}};
}

Schedule schedule_from(const Attributes& attributes) {
  return {.kind = static_cast<ScheduleKind>(attributes.integer("schedule")),
          .peak = attributes.real("peak"),
          .final = attributes.real("final"),
          .warmup_steps = attributes.integer("warmup_steps"),
          .decay_steps = attributes.integer("decay_steps"),
          .milestones = attributes.integers("milestones"),
          .factor = attributes.real("factor")};
}

}  // namespace lockstep::engine
