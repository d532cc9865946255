// What a link carries, for the words beside it.
//
// Thread rule: pure functions. GB/s, one direction, in NCCL's count (topology/bandwidth.h); empty
// where the recording does not say enough.
#pragma once

#include <optional>
#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

// REQUIRES: the machine has that device, and it is not a NUMA node.
[[nodiscard]] const PciDevice& pci_of(const Machine& machine, DeviceId id);

// Of the PCIe link from the device up; only where its speed or width is known.
[[nodiscard]] std::optional<double> uplink_GBps(const PciDevice& device);

// As the link states it, else by its kind, count and GPU.
[[nodiscard]] std::optional<double> link_GBps(const Machine& machine, const Link& link);

// "48 GB/s"; empty for an empty value.
[[nodiscard]] std::string speed_text(std::optional<double> GBps);

}  // namespace lockstep::topology
