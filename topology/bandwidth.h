// How fast links are, in NCCL's count: GB/s, one direction.
//
// These are the numbers by which NCCL chooses its paths and rings, not what a link carries at best.
// Source: NCCL 2.28 (graph/topo.h, topo.cc), for AMD GPUs RCCL's (graph/topo.h). Thread rule: pure
// functions. What a recording does not say gives an empty value, unless NCCL itself assumes one.
#pragma once

#include <optional>
#include <string_view>

#include "topology/devices.h"

namespace lockstep::topology {

// Within a device, and of an adapter without a PCI device (LOC_BW).
inline constexpr double kLocalGBps = 5000;

// One NVLink of a GPU, by its compute capability. Empty where that is not known.
[[nodiscard]] std::optional<double> nvlink_GBps(const Gpu& gpu);

// One xGMI link of an AMD GPU, by its architecture, which is part of its name ("gfx90a"); RCCL's
// slowest where the name says nothing.
[[nodiscard]] double xgmi_GBps(const Gpu& gpu);

// A PCIe link: what device and slot could do, else what they do. NCCL takes an unknown speed for
// generation 3 and an unknown width for 16 lanes, and so does this.
[[nodiscard]] double pcie_GBps(const PcieLink& link);

// The same, empty where the speed or the width is not known or none that PCIe has.
[[nodiscard]] std::optional<double> stated_pcie_GBps(const PcieLink& link);

// GT/s of a speed as /sys writes it, in the spellings NCCL knows: "16 GT/s", "16.0 GT/s PCIe".
// Others are empty: NCCL takes them for 8 GT/s.
[[nodiscard]] std::optional<double> pcie_speed(std::string_view text);

// The newer spelling of a speed: "16.0 GT/s PCIe"; empty for a speed that PCIe does not have.
[[nodiscard]] std::string_view pcie_speed_text(double speed);

// Between two NUMA nodes, whichever they are. Empty where the processor is not known.
[[nodiscard]] std::optional<double> numa_GBps(const Cpu& cpu);

// What an adapter's port carries; NCCL takes one that does not say for 10 Gb/s.
[[nodiscard]] double nic_GBps(const Nic& nic);

}  // namespace lockstep::topology
