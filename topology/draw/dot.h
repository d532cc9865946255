// A machine as a graph for Graphviz.
//
// Thread rule: a pure function. Cost: linear in devices, links and paths.
#pragma once

#include <string>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// A cluster a NUMA node, a node a device (its id is its name, "GPU3"), an edge a link with kind,
// width and bandwidth. A machine without links has edges of what its pairs of GPUs say where they
// are near (NVLink or one switch). Devices that findings name are red.
[[nodiscard]] std::string draw_dot(const Machine& machine, const PathTable& paths);

}  // namespace lockstep::topology
