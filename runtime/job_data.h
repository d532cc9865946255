// The data of a job: its sources, and who reads which part of them.
#pragma once

#include <memory>

#include "runtime/data/batch_plan.h"
#include "runtime/data/loader.h"
#include "runtime/data/source.h"
#include "runtime/job.h"
#include "runtime/job_plan.h"

namespace lockstep::runtime {

// `eval` is null for a job that does not evaluate. Throws DataError.
struct Datasets {
  std::unique_ptr<data::Source> train;
  std::unique_ptr<data::Source> eval;
};
[[nodiscard]] Datasets open_datasets(const Job& job, const data::SourceNeeds& needs = {});

// Which part of the samples a rank takes.
struct Share {
  int rank = 0;
  int world = 1;
};

// `world` workers train together and `evaluation_world` evaluate together: the same, unless each
// trains alone.
[[nodiscard]] JobShape shape_of(const Job& job, const Datasets& datasets, int world,
                                int evaluation_world);

// REQUIRES: `source` outlives the loader.
[[nodiscard]] std::unique_ptr<data::Loader> make_loader(const Job& job, const data::Source& source,
                                                        const Share& share, data::Mode mode);

}  // namespace lockstep::runtime
