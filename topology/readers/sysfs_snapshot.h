// Reads a recorded /sys (readers/snapshot_tree.h) with the code of the live probe.
//
// A recording of a part of /sys (its class/infiniband alone) gives that part. Errors: ReadError
// where no line is an entry. Thread rule: pure functions. Cost: O(lines x log lines).
#pragma once

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_sysfs_snapshot(std::string_view text);
[[nodiscard]] Reading read_sysfs_snapshot(const Recording& recording);

}  // namespace lockstep::topology
