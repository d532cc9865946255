// Network interfaces, from /sys/class/net, and those of them that are adapters of their own.
//
// Addresses are not in /sys: the live probe adds them (probe/addresses.h). Thread rule: pure
// functions.
#pragma once

#include "topology/machine.h"
#include "topology/pci_tree.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Appends every interface, in natural order.
void read_interfaces(const FileTree& tree, Machine& machine);

// Appends a Nic for each physical interface that no RDMA adapter of the machine stands for, then
// one for each network function of the bus that has no driver (named by its address; virtual
// functions are left out of these). REQUIRES: read_infiniband and read_interfaces came before.
void read_ethernet(const FileTree& tree, const PciTree& pci, Machine& machine);

}  // namespace lockstep::topology
