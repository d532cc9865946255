// `lspci -vvv` and `lspci -nn`: GPUs, NICs, NVSwitches and bridges on the PCI bus.
//
// Names stand for numbers where numbers were not asked for (-nn): kinds by the words of the PCI
// class list, makers by their names. With -vvv the tree of bridges is read from their bus numbers
// and becomes links as NCCL's graph has them: a device hangs off the switch's upstream port two
// bridges up, or off its NUMA node. Ports of switches and root ports are in Machine::switches too,
// for their access control. Without root lspci prints no capabilities; then access control and PCIe
// links stay unknown, and a finding says so. Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_lspci(std::string_view text);

// Errors: ReadError where no device can be read.
[[nodiscard]] Reading read_lspci(const Recording& recording);

}  // namespace lockstep::topology
