// Where a run begins: at step 0, or at a checkpoint of its own or of an earlier run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/job.h"
#include "runtime/metrics/run_folder.h"

namespace lockstep::runtime {

struct FoundResume {
  std::optional<checkpoint::LoadedCheckpoint> checkpoint;
  std::filesystem::path path;
  std::vector<std::string> messages;  // what was passed over, and why
};

// In this order: the newest good checkpoint in `folder` itself (a restart within a run always
// resumes); the path that the job names; with "auto" the newest good checkpoint of an unfinished
// run of the same name and job beside it. For rank 0. Throws checkpoint::CheckpointError where a
// named one cannot be used.
[[nodiscard]] LOCKSTEP_API FoundResume find_resume(const Job& job,
                                                   const metrics::RunFolder& folder);

}  // namespace lockstep::runtime
