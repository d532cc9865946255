// Which adapters are bonds: two ports that act as one.
//
// Thread rule: a pure function. Cost: O(interfaces).
#pragma once

#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

// The bond that an adapter is (mlx5_bond_0), that is its interface (bond0), or whose member its
// interface is: its name, the interface's where that is known. Empty where it is none.
[[nodiscard]] std::string bond_of(const Machine& machine, const Nic& nic);

}  // namespace lockstep::topology
