// What a plan and the time spent on it say about a run: the numbers of the summary and of the log.
#pragma once

#include <cstdint>

#include "engine/device/visibility.h"
#include "runtime/job_plan.h"
#include "runtime/metrics/summary.h"

namespace lockstep::runtime {

struct RunSoFar {
  int world = 1;
  std::int64_t accumulate = 1;
  std::int64_t steps = 0;       // done, those of earlier attempts included
  std::int64_t steps_here = 0;  // done by this attempt
  double seconds = 0;           // that those took
  double ceiling = 0;           // FLOP/s that matrix products reach on all workers; 0: not measured
};

// Sizes of arenas, the bound, and what a worker's process will have touched: all arenas, but of the
// optimizer's states only the slice that it updates. REQUIRES: sharers, the workers of a host that
// share its states, is at least 1.
LOCKSTEP_API void fill_from_plan(metrics::Summary& summary, const JobPlan& plan, int sharers);
// Steps, epochs, samples, tokens, and rates where something was timed.
LOCKSTEP_API void fill_from_run(metrics::Summary& summary, const JobPlan& plan,
                                const RunSoFar& run);

}  // namespace lockstep::runtime
