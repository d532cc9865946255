// The PCI bus of /sys as a tree of functions.
//
// Parents come from the paths behind /sys/bus/pci/devices, so domains of any number of digits nest
// right. A link's limits are the lesser of the device's and of the port above it, as NCCL has it.
// Cost: about ten small files a function. Thread rule: pure functions.
#pragma once

#include "topology/pci_tree.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

[[nodiscard]] PciTree read_pci(const FileTree& tree);

// The PCI function that a path of /sys lies in ("/sys/devices/pci0000:00/0000:00:03.0/virtio2"):
// the last part of it that is an address.
[[nodiscard]] std::optional<PciAddress> function_of(std::string_view real_path);

}  // namespace lockstep::topology
