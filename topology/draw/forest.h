// Which device is drawn below which: the machine's PCIe trees, with what no link places.
//
// Thread rule: a pure function. Every device that a PCIe tree can hold is in it once, also where a
// damaged recording's links go in rings.
#pragma once

#include <optional>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

struct Branch {
  std::optional<DeviceId> id;  // a NUMA node or a switch; empty: what has no known place
  bool linked = false;         // a link leads up from it
  std::vector<Branch> switches;
  std::vector<DeviceId> gpus, nics;
};

struct Forest {
  std::vector<Branch> trees;         // NUMA nodes by number; last what has no place
  std::vector<int> nodes_of_memory;  // NUMA nodes without CPUs and devices, which are not drawn
};

// Devices that say their NUMA node, but have no link, are below that node.
// Cost: linear in devices and links.
[[nodiscard]] Forest forest_of(const Machine& machine);

}  // namespace lockstep::topology
