// Reads hwloc XML as `lstopo topology.xml` writes it, versions 1, 2, 3 and later minor ones.
//
// Read with an XML parser, not with hwloc: a library refuses files newer than itself. What it
// gives: processors, NUMA nodes, PCI switches, GPUs, NVSwitches, NICs, NVLinks where NVML was
// recorded. A PCIe link's speed and width are not told apart in these files; its bandwidth is in
// Link::GBps. Errors: ReadError for what is no such file. Cost: linear, but for lists of packages
// times nodes. Thread rule: pure functions.
#pragma once

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_hwloc_xml(std::string_view text);
[[nodiscard]] Reading read_hwloc_xml(const Recording& recording);

}  // namespace lockstep::topology
