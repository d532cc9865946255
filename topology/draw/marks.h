// Which devices a machine's findings name.
//
// Thread rule: a value.
#pragma once

#include <map>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

// For each device that a finding's `where` names (as "GPU3", by PCI address, or a NIC by its name
// or interface), the positions of those findings, ascending. Of severity `info` none are counted.
[[nodiscard]] std::map<DeviceId, std::vector<std::size_t>> marks_of(const Machine& machine);

}  // namespace lockstep::topology
