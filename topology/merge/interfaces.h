// Network interfaces of one host, and which adapter is which of them.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <vector>

#include "topology/machine.h"
#include "topology/merge/groups.h"
#include "topology/merge/nics.h"

namespace lockstep::topology::merging {

// By name. A kind that one recording states is kept over what a name suggests.
[[nodiscard]] std::vector<Interface> merge_interfaces(const Recordings& recordings,
                                                      std::vector<Finding>& findings);

// Adapters and interfaces complete each other (topology/merge.h); `members` are marked as of their
// bonds.
void join_interfaces(Machine& machine, std::span<const BondMember> members);

}  // namespace lockstep::topology::merging
