#include "runtime/run_numbers.h"

#include <algorithm>

namespace lockstep::runtime {

void fill_from_plan(metrics::Summary& summary, const JobPlan& plan, int sharers) {
  const engine::ArenaBytes& bytes = plan.compiled.arena_bytes;
  auto arena = [&](engine::Arena which) {
    return static_cast<std::int64_t>(bytes[static_cast<std::size_t>(which)]);
  };
  std::int64_t planned = 0;
  for (std::size_t of_arena : bytes) planned += static_cast<std::int64_t>(of_arena);
  const std::int64_t optimizer = arena(engine::Arena::optimizer);
  summary.memory.planned = planned - optimizer + optimizer / sharers;
  summary.memory.arenas = {arena(engine::Arena::parameters), arena(engine::Arena::gradients),
                           arena(engine::Arena::optimizer), arena(engine::Arena::activations),
                           arena(engine::Arena::workspace)};
  std::size_t bound = 0;
  for (const auto& [name, program] : plan.compiled.plans) {
    bound = std::max(bound, program.lower_bound_activations);
  }
  summary.memory.lower_bound_activations = static_cast<std::int64_t>(bound);
}

void fill_from_run(metrics::Summary& summary, const JobPlan& plan, const RunSoFar& run) {
  const JobShape& shape = plan.shape;
  const bool windows = shape.sample.is_window();
  summary.steps = run.steps;
  summary.epochs = static_cast<double>(run.steps) / static_cast<double>(shape.steps_per_epoch);
  summary.samples = run.steps * shape.batch;
  if (windows) summary.tokens = run.steps * shape.batch * shape.sample.context;
  if (run.steps_here <= 0 || run.seconds <= 0) return;
  const double a_second = static_cast<double>(run.steps_here) / run.seconds;  // steps
  summary.throughput.samples_per_s = a_second * static_cast<double>(shape.batch);
  if (windows) {
    summary.throughput.tokens_per_s =
        a_second * static_cast<double>(shape.batch * shape.sample.context);
  }
  const double flops =
      flops_of_step(plan, static_cast<int>(run.accumulate)) * static_cast<double>(run.world);
  summary.throughput.tflops = a_second * flops / 1e12;
  if (run.ceiling > 0) summary.throughput.share_of_ceiling = a_second * flops / run.ceiling;
}

}  // namespace lockstep::runtime
