// Access control services of the bridges above GPUs and adapters, from their configuration space.
//
// The kernel shows the extended capabilities to root only: for others nothing is filled, which
// means "cannot tell". Source: PCI Express Base Specification 6.0, 7.7.11. Thread rule: pure
// functions.
#pragma once

#include "topology/pci_tree.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Fills access_control of machine.switches. Ports that are no switch of their own (root ports,
// downstream ports) are added to machine.switches, without links, where a control is on.
void read_access_control(const FileTree& tree, const PciTree& pci, Machine& machine);

// The ACS control of a configuration space; empty where it has none or ends before it.
[[nodiscard]] std::optional<AccessControl> access_control_of(std::string_view configuration);

}  // namespace lockstep::topology
