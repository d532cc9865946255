// What recordings say of pairs of devices: links, stated paths, peers.
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "topology/machine.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

// Fills `links`, `stated` and `peers` of `into`, in its ids. A pair that names a device its own
// recording does not have is left out.
void merge_pairs(Machine& into, const Recordings& recordings, const Groupings& groupings);

// Ports of one RDMA device are at one place: what a later one lacks (PCI address, NUMA node, PCIe
// link, stated paths) it gets from the first.
void join_ports(Machine& machine);

}  // namespace lockstep::topology::merging
