// One host out of several recordings of it.
//
// Each recording knows a part: a matrix the paths, ibdev2netdev the interfaces, `ip` the addresses.
// The same device is recognised by its PCI address where both recordings have one, else by its name
// (mlx5_3, or the interface's), GPUs else by their position. Thread rule: a pure function.
#pragma once

#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

// Every list is in the order of the first recording that has it; devices that only a later one
// knows follow. A field is the first recording's that states it; where another states something
// else, a finding has both values and both sources. Ids in links, stated paths, peers and findings
// are those of the merged lists. Links of one kind of a device are taken from the first recording
// that has any, so that two models of one board are not added up.
//
// An adapter's interface is looked up: kind, rate, state and PCI address complete each other. Where
// an adapter is a bond or a bond's member, its Nic::netdev leads to an Interface of kind `bond`, by
// itself or by Interface::master. A port that only one recording tells apart from its sibling has
// the sibling's place.
//
// `parts` of different hosts are merged as well, with a finding where names of hosts or adapters
// tell (topology/merge/strangers.h); a matrix with other adapters than a list has one too. Cost:
// O(parts x devices^2).
[[nodiscard]] Machine merge(std::vector<Machine> parts);

}  // namespace lockstep::topology
