// Trains a job: what `lockstep train` does in each worker.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

#include "engine/device/visibility.h"
#include "runtime/job.h"
#include "runtime/job_plan.h"

namespace lockstep::runtime {

struct TrainOptions {
  std::filesystem::path runs = "runs";  // where a run folder is made, if the launcher has made none
  // plan.json of an earlier run: its kernels are used, and the rest must be the same. Default: the
  // best kernels of this machine.
  std::optional<std::filesystem::path> plan;
};

enum class TrainEnd { done, interrupted };

// Joins the other workers (LOCKSTEP_* variables; alone without them), trains to the end and writes
// the run folder. Progress goes to `out`, from rank 0. Throws what stopped it; the summary then
// says "failed".
[[nodiscard]] LOCKSTEP_API TrainEnd train(const Job& job, const TrainOptions& options,
                                          std::ostream& out);

// Compiles the job for the number of workers that the environment says and gives the text of
// `what`.
[[nodiscard]] LOCKSTEP_API std::string dump(const Job& job, Dump what);

}  // namespace lockstep::runtime
