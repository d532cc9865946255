// Whether a job fits into this host's memory, known before anything is allocated.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine/device/visibility.h"
#include "runtime/job.h"
#include "runtime/job_plan.h"

namespace lockstep::runtime {

// A job that does not fit. The message is a table by owner, and the one change that makes it fit.
class LOCKSTEP_API MemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bytes that this host can still give: the kernel's MemAvailable, or what the control groups that
// this process is in leave, whichever is less. Nothing where neither can be read. `root` is where
// /proc and /sys are found.
[[nodiscard]] LOCKSTEP_API std::optional<std::size_t> available_memory(
    const std::filesystem::path& root = "/");

// Bytes of a plan on one host: parameters and optimizer states once, all else once a worker.
[[nodiscard]] LOCKSTEP_API std::size_t bytes_of_host(const JobPlan& plan, int local_world);

struct MemoryBudget {
  std::size_t available = 0;  // bytes
  int local_world = 1;        // workers of this job on this host
};

// Throws MemoryError where the plan needs more than there is. To find the change, plans the job
// again with `recompute`, then with more micro-steps. Cost: nothing where it fits, else a few
// compilations. `kernels`: those that the plan was made with.
LOCKSTEP_API void require_memory(const JobPlan& plan, const Job& job, const MemoryBudget& budget,
                                 const engine::KernelTable& kernels);

}  // namespace lockstep::runtime
