#include "runtime/step_statistics.h"

#include <algorithm>
#include <cmath>

namespace lockstep::runtime {
namespace {

constexpr std::size_t kWarmUp = 5;

// The value that the share `q` of `values` does not exceed.
double quantile(std::vector<double> values, double q) {
  const auto place =
      static_cast<std::ptrdiff_t>(std::ceil(q * static_cast<double>(values.size())) - 1);
  auto at = values.begin() + std::max<std::ptrdiff_t>(0, place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

StepStatistics::Interval StepStatistics::interval() {
  Interval interval;
  for (; interval_begin_ < times_.size(); ++interval_begin_) {
    const StepTime& time = times_[interval_begin_];
    interval.sum.total += time.total;
    interval.sum.data_wait += time.data_wait;
    interval.sum.peer_wait += time.peer_wait;
    interval.sum.run.forward += time.run.forward;
    interval.sum.run.backward += time.run.backward;
    interval.sum.run.update += time.run.update;
    interval.sum.run.exposed += time.run.exposed;
    interval.sum.run.stolen += time.run.stolen;
    ++interval.steps;
  }
  return interval;
}

metrics::Summary::StepMs StepStatistics::summary() const {
  const std::size_t from = times_.size() > 2 * kWarmUp ? kWarmUp : 0;
  auto of = [&](auto pick, double q = 0.5) -> metrics::Measured {
    std::vector<double> values;
    for (std::size_t i = from; i < times_.size(); ++i) values.push_back(1e3 * pick(times_[i]));
    if (values.empty()) return std::nullopt;
    return quantile(std::move(values), q);
  };
  metrics::Summary::StepMs ms;
  ms.median = of([](const StepTime& t) { return t.total; });
  ms.p95 = of([](const StepTime& t) { return t.total; }, 0.95);
  ms.data_wait = of([](const StepTime& t) { return t.data_wait; });
  ms.forward = of([](const StepTime& t) { return t.run.forward; });
  ms.backward = of([](const StepTime& t) { return t.run.backward; });
  ms.exposed_comm = of([](const StepTime& t) { return t.run.exposed; });
  ms.stolen_comm = of([](const StepTime& t) { return t.run.stolen; });
  ms.peer_wait = of([](const StepTime& t) { return t.peer_wait; });
  ms.optimizer = of([](const StepTime& t) { return t.run.update; });
  return ms;
}

double StepStatistics::total_seconds() const {
  double seconds = 0;
  for (const StepTime& time : times_) seconds += time.total;
  return seconds;
}

}  // namespace lockstep::runtime
