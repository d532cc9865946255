// The steps by which an hwloc file becomes a Machine; readers/hwloc_xml.cc takes them in order.
//
// Thread rule: pure functions. Indices are those of HwlocFile::objects().
#pragma once

#include <vector>

#include "topology/pci_tree.h"
#include "topology/readers/hwloc_objects.h"

namespace lockstep::topology {

// Processors, packages and memory domains.
void read_hwloc_processors(const HwlocFile& file, Machine& machine);

// Bridges and devices with the NUMA node of the object they hang below, at most 65,536 of them.
// REQUIRES: machine.numa.
[[nodiscard]] PciTree read_hwloc_pci(const HwlocFile& file, const Machine& machine);

// Network and RDMA devices. Virtual functions, and functions without a device of the operating
// system beside one that has some, are not NICs of their own: they are counted in a finding
// "virtual-functions" of the NIC they belong to.
void read_hwloc_nics(const HwlocFile& file, const PciTree& pci, Machine& machine);

// NVLinks by hwloc's matrix "NVLinkBandwidth", XGMI by "XGMIBandwidth". REQUIRES: GPUs and
// NVSwitches are in `machine` with their addresses.
void read_hwloc_nvlinks(const HwlocFile& file, Machine& machine);

}  // namespace lockstep::topology
