// RDMA adapters, from /sys/class/infiniband.
//
// libibverbs is not needed: state, rate, link layer, GIDs with their types and interfaces, GUID and
// board are all there. GIDs that are not configured are left out; those of another network
// namespace are kept as not readable. Cost: one file a GID table entry. Thread rule: pure
// functions.
#pragma once

#include "topology/machine.h"
#include "topology/pci_tree.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Appends a Nic for each port of each adapter, in natural order. Links are not added (attach()).
void read_infiniband(const FileTree& tree, const PciTree& pci, Machine& machine);

// "4: ACTIVE" of a port's state; "5: LinkUp" of its physical state.
[[nodiscard]] NicState port_state(std::string_view text);
[[nodiscard]] std::string after_colon(std::string_view text);

}  // namespace lockstep::topology
