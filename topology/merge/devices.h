// GPUs and switches of one host, each out of what the recordings that know it say.
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "topology/machine.h"
#include "topology/merge/accounts.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

[[nodiscard]] PciDevice merge_pci(const Accounts<PciDevice>& accounts);

[[nodiscard]] std::vector<Gpu> merge_gpus(const Recordings& recordings, const Grouping& grouping,
                                          std::vector<Finding>& findings);

// `list`: Machine::switches or Machine::nvswitches.
[[nodiscard]] std::vector<Switch> merge_switches(const Recordings& recordings,
                                                 const Grouping& grouping,
                                                 std::vector<Switch> Machine::*list);

}  // namespace lockstep::topology::merging
