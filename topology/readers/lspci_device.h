// One device of lspci's output.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/devices.h"

namespace lockstep::topology {

struct LspciDevice {
  PciDevice pci;             // address is set
  std::string product;       // "NVIDIA Corporation GA102GL [A10]"
  std::optional<int> numa;   // "NUMA node: 1"
  std::string driver;        // "Kernel driver in use: mlx5_core"
  std::optional<int> below;  // of a bridge: the bus it leads to
  std::optional<AccessControl> access_control;
  bool verbose = false;              // more than its first line is there
  bool capabilities_denied = false;  // "<access denied>": lspci was not run by root
  bool has_capabilities = false;
  int line = 0;
};

// "19:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)"; nothing where the
// line is not the first one of a device.
[[nodiscard]] std::optional<LspciDevice> parse_lspci_head(std::string_view line);

// Takes from a further line of the device what is of interest.
void add_lspci_detail(std::string_view line, LspciDevice& device);

[[nodiscard]] bool is_bridge(const PciDevice& pci);  // PCI to PCI

}  // namespace lockstep::topology
