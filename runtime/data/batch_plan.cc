#include "runtime/data/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

void require_positive(std::int64_t value, const char* what) {
  if (value < 1) throw DataError(fmt::format("{}: expected at least 1, found {}", what, value));
}

}  // namespace

BatchPlan::BatchPlan(const BatchPlanOptions& options) : options_(options) {
  require_positive(options.samples, "samples of the data set");
  require_positive(options.batch, "batch");
  require_positive(options.world, "workers");
  require_positive(options.accumulate, "micro-steps a step");
  const std::int64_t shares = options.world * options.accumulate;
  const char* set = options.mode == Mode::training ? "training" : "evaluation";
  if (options.samples < shares) {
    throw DataError(
        fmt::format("the {} set has {} samples for {} workers x {} micro-steps; each needs at "
                    "least one: use fewer workers or more data",
                    set, options.samples, options.world, options.accumulate));
  }
  if (options.batch < shares) {
    throw DataError(
        fmt::format("a batch of {} cannot be shared by {} workers x {} micro-steps; each needs at "
                    "least one sample: raise data.batch to {} or use fewer workers",
                    options.batch, options.world, options.accumulate, shares));
  }
  if (options.mode == Mode::training && options.samples < options.batch) {
    throw DataError(
        fmt::format("the training set has {} samples, less than one batch of {}: lower data.batch",
                    options.samples, options.batch));
  }
  capacity_ = (options.batch - 1) / shares + 1;
  steps_per_epoch_ = options.mode == Mode::training ? options.samples / options.batch
                                                    : (options.samples - 1) / options.batch + 1;
}

std::int64_t BatchPlan::dropped() const {
  return std::max<std::int64_t>(0, options_.samples - steps_per_epoch_ * options_.batch);
}

std::int64_t BatchPlan::global_count(std::int64_t step) const {
  return std::min(options_.batch, options_.samples - step * options_.batch);
}

ShareRange BatchPlan::share(std::int64_t step, std::int64_t rank, std::int64_t micro) const {
  const std::int64_t shares = options_.world * options_.accumulate;
  const std::int64_t index = micro * options_.world + rank;
  const std::int64_t each = global_count(step) / shares;
  const std::int64_t longer = global_count(step) % shares;
  ShareRange range;
  range.first_row = index * each + std::min(index, longer);
  range.first_position = step * options_.batch + range.first_row;
  range.count = each + (index < longer ? 1 : 0);
  return range;
}

}  // namespace lockstep::runtime::data
