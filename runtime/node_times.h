// What each node of a plan takes on this machine, beside what it must compute and move.
#pragma once

#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/job_plan.h"
#include "runtime/replica.h"

namespace lockstep::runtime {

// Median seconds of each entry of the program that ends a step, run node by node `steps` times on
// this batch. REQUIRES: `batch` is a step's last micro-step's. Collective, as run_micro_step.
[[nodiscard]] LOCKSTEP_API std::vector<double> node_times(Replica& replica,
                                                          const data::Batch& batch, int steps);

// One line an entry: time, FLOPs, bytes, their rates, and the share of `ceiling` (FLOP/s of large
// products) where it multiplies matrices; then the sums by op, longest first.
[[nodiscard]] LOCKSTEP_API std::string timed_plan(const JobPlan& plan,
                                                  const std::vector<double>& seconds,
                                                  double ceiling);

}  // namespace lockstep::runtime
