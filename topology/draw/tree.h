// A machine as a tree: NUMA nodes, the switches and devices that hang off them, and the NVLinks
// beside it.
//
// Thread rule: a pure function. Cost: linear in devices and links.
#pragma once

#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

// Lines, each ended. Devices that no link places follow the tree; damage (links in a circle, to
// devices that are not there) is passed over.
[[nodiscard]] std::string draw_tree(const Machine& machine);

}  // namespace lockstep::topology
