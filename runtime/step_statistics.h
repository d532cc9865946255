// Where the steps' time went: per-step numbers in, medians and sums out.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/executor.h"
#include "runtime/metrics/summary.h"

namespace lockstep::runtime {

// Seconds of one optimizer step.
struct StepTime {
  double total = 0;
  double data_wait = 0;
  double peer_wait = 0;
  engine::RunTime run;  // summed over micro-steps
};

class LOCKSTEP_API StepStatistics {
 public:
  void add(const StepTime& time) { times_.push_back(time); }

  // The steps since the last call of interval(), as a sum.
  struct Interval {
    StepTime sum;
    std::size_t steps = 0;
  };
  [[nodiscard]] Interval interval();

  // Of all steps but the first few, which warm up.
  [[nodiscard]] metrics::Summary::StepMs summary() const;
  [[nodiscard]] double total_seconds() const;

 private:
  std::vector<StepTime> times_;
  std::size_t interval_begin_ = 0;
};

}  // namespace lockstep::runtime
