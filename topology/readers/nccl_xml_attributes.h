// Attributes of NCCL's topology XML as values, and the kinds of devices they tell of.
//
// Everything is checked; what is missing or is no such value is empty. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "topology/devices.h"

namespace lockstep::topology {

[[nodiscard]] std::optional<int> int_attribute(pugi::xml_node node, const char* name);
[[nodiscard]] std::optional<double> number_attribute(pugi::xml_node node, const char* name);
// "0x10de" or "10de".
[[nodiscard]] std::optional<std::uint32_t> hex_attribute(pugi::xml_node node, const char* name);
[[nodiscard]] std::string_view text_attribute(pugi::xml_node node, const char* name);

// What a `pci` element says of its device.
[[nodiscard]] PciDevice pci_of(pugi::xml_node pci);

// What a `pci` element stands for: by what is in it, else by its class (NCCL 2.28 graph/topo.cc,
// kvDictPciClass; 0x12 is RCCL's).
enum class PciRole {
  gpu,
  nic,
  pcie_switch,
  nvswitch,
  cpu_bridge,  // POWER: what is below belongs to the CPU
  other,       // a device that NCCL has no use for
  unknown      // a device without a class: only the host knows what it is
};
[[nodiscard]] PciRole role_of(pugi::xml_node pci);

// By the class of the PCI device, where it has one, and the name of the net device.
[[nodiscard]] NicKind nic_kind(const PciDevice& pci, std::string_view name);

// The architecture of an AMD GPU: "gfx90a", of "910" as RCCL's older files have it. Empty for
// others.
[[nodiscard]] std::string amd_architecture(pugi::xml_node gpu);

}  // namespace lockstep::topology
