// What advise() is told of the GID tables of a machine's RoCE ports.
//
// Thread rule: a pure function.
#pragma once

#include <vector>

#include "topology/advice/advice.h"
#include "topology/machine.h"

namespace lockstep::topology {

// One a port whose table says something (topology/gid_choice.h), in the ports' order.
[[nodiscard]] std::vector<GidFacts> gid_facts(const Machine& machine);

}  // namespace lockstep::topology
