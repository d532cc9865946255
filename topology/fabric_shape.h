// What the links of a fabric amount to: which switches are leaves, how many tiers there are above
// them, and which leaves make a rail.
//
// Thread rule: pure functions. Cost: about linear in the number of links.
#pragma once

#include <vector>

#include "topology/fabric.h"

namespace lockstep::topology {

struct FabricShape {
  std::vector<int> tier;  // of each switch, in the fabric's order; -1: no adapter reaches it
  int tiers = 0;          // how many there are; 0 where no switch has an adapter
  // In the order of the device's number. Empty where leaves do not keep adapters apart: where the
  // adapters of a host share a leaf, or nothing says which adapters are alike.
  std::vector<Rail> rails;
};

// Reads the ports of `fabric` only; its tiers and rails may be wrong or missing. A link that only
// one of its ends states counts. The fabric may be a forest, or planes apart from each other.
[[nodiscard]] FabricShape shape_of(const Fabric& fabric);

}  // namespace lockstep::topology
