// One fabric out of several recordings, as where each rail is a subnet that has to be read by
// itself.
//
// Thread rule: pure functions. Cost: about linear in the number of links.
#pragma once

#include "topology/fabric.h"

namespace lockstep::topology {

// Whether nodes are told apart by GUID, as ibnetdiscover does and Slurm's topology.conf does not.
[[nodiscard]] bool has_guids(const Fabric& fabric);

// Both, with tiers and rails anew. A node of both has the ports of both, once each.
// REQUIRES: has_guids() of both.
[[nodiscard]] Fabric joined(Fabric fabric, Fabric more);

}  // namespace lockstep::topology
