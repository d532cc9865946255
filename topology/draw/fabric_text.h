// The network between hosts, for a terminal: its size, its tiers, its rails.
//
// Thread rule: a pure function. Cost: linear in switches and adapters.
#pragma once

#include <string>

#include "topology/fabric.h"

namespace lockstep::topology {

[[nodiscard]] std::string draw_fabric(const Fabric& fabric);

}  // namespace lockstep::topology
