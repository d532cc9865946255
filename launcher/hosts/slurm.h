// The hosts of the Slurm job that we are in.
//
// Thread rule: a pure function of the environment.
#pragma once

#include <optional>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {

// The job's nodes (SLURM_JOB_NODELIST), each with its tasks as slots (SLURM_TASKS_PER_NODE), the
// job's id and, where Slurm says it, its end. Nothing outside of a job. Errors: AllocationError
// that names the variable.
[[nodiscard]] std::optional<Allocation> slurm_allocation(const Environment& environment);

}  // namespace lockstep::launcher
