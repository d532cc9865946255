// Slurm's counts a node, "3,1(x2)": as SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE have them.
//
// Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

// One number a node, in the order of the node list: 3, 1, 1. At most kMostHosts of them, each at
// least 1 and at most kMostSlots. Errors: AllocationError.
[[nodiscard]] std::vector<std::uint32_t> expand_slurm_counts(const LocatedText& counts);

}  // namespace lockstep::launcher
