#include <algorithm>
#include <cmath>

#include "engine/cpu/families.h"
#include "engine/ops/ops.h"
#include "engine/optimizer.h"

namespace lockstep::engine::cpu {
namespace {

Kernel bind_advance(const Binding& b) {
  const Schedule schedule = schedule_from(b.node.attributes);
  return [schedule, state = b.out<StepState>(0), weight = b.in<float>(1)] {
    state->learning_rate = static_cast<float>(learning_rate(schedule, state->step));
    state->step += 1;
    state->global_weight = *weight;
    state->skip = 0;
  };
}

Kernel bind_add_totals(const Binding& b) {
  const bool first = b.node.attributes.integer("first") != 0;
  return [first, totals = b.in<double>(0), sums = b.out<double>(0)] {
    for (int i = 0; i < 3; ++i) sums[i] = first ? totals[i] : sums[i] + totals[i];
  };
}

Kernel bind_control_word(const Binding& b) {
  return [totals = b.in<double>(0), early = b.out<double>(0)] {
    std::copy(totals, totals + 3, early);
    early[3] = std::isfinite(totals[0]) ? 0.0 : 1.0;
  };
}

Kernel bind_conclude(const Binding& b) {
  return [state = b.out<StepState>(0), early = b.in<double>(1), late = b.in<double>(2)] {
    state->loss_sum = early[0];
    state->weight_sum = early[1];
    state->correct_sum = early[2];
    state->skip = early[3] != 0 ? 1 : 0;
    state->squared_norm = late ? late[0] : 0.0;
    state->gradient_scale = late ? static_cast<float>(late[1]) : 1.0F;
    state->applied += 1 - state->skip;
  };
}

}  // namespace

Family state_kernels(const Context&) {
  return {{.op = "advance_state", .bind = bind_advance},
          {.op = "add_totals", .bind = bind_add_totals},
          {.op = "control_word", .bind = bind_control_word},
          {.op = "conclude_state", .bind = bind_conclude}};
}

}  // namespace lockstep::engine::cpu
