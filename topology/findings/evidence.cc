#include "topology/findings/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "topology/pci_vendors.h"

namespace lockstep::topology::findings {
namespace {

// The element at `index`, or null.
template <typename Value>
const Value* at(const std::vector<Value>& values, int index) {
  return index >= 0 && index < static_cast<int>(values.size())
             ? &values[static_cast<std::size_t>(index)]
             : nullptr;
}

}  // namespace

const PciDevice* pci_of(const Machine& machine, DeviceId id) {
  const auto pci = [](const auto* device) { return device ? &device->pci : nullptr; };
  switch (id.kind) {
    case DeviceKind::gpu:
      return pci(at(machine.gpus, id.index));
    case DeviceKind::nic:
      return pci(at(machine.nics, id.index));
    case DeviceKind::pcie_switch:
      return pci(at(machine.switches, id.index));
    case DeviceKind::nvswitch:
      return pci(at(machine.nvswitches, id.index));
    case DeviceKind::numa:
      break;
  }
  return nullptr;
}

bool is_known(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::numa ? find_numa(machine, id.index) != nullptr
                                     : pci_of(machine, id) != nullptr;
}

std::string name_of(const Machine& machine, DeviceId id) {
  if (id.kind == DeviceKind::nic) {
    const Nic* nic = at(machine.nics, id.index);
    if (nic && !nic->name.empty()) return fmt::format("{} ({})", to_string(id), nic->name);
  }
  const PciDevice* pci = pci_of(machine, id);
  return pci && pci->address ? fmt::format("{} ({})", to_string(id), to_string(*pci->address))
                             : to_string(id);
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::vector<DeviceId> below(const Machine& machine, DeviceId port) {
  std::vector<DeviceId> reached{port}, devices;
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const Link& link : machine.links) {
      if (link.kind != LinkKind::pcie || link.to != reached[next]) continue;
      if (!is_known(machine, link.from) || std::ranges::count(reached, link.from) > 0) continue;
      reached.push_back(link.from);
      if (link.from.kind == DeviceKind::gpu || link.from.kind == DeviceKind::nic)
        devices.push_back(link.from);
    }
  }
  return devices;
}

bool may_carry_rdma(const Nic& nic) {
  constexpr std::uint32_t kWireless = 0x0280;  // "network controller", other than Ethernet
  constexpr double kSlowestGbps = 10;
  if (nic.kind == NicKind::infiniband || nic.kind == NicKind::roce || nic.kind == NicKind::efa)
    return true;
  // A recording of the PCI bus calls these Ethernet, which they can be besides.
  if (nic.kind == NicKind::ethernet) return nic.pci.vendor == kMellanox;
  return nic.pci.class_code.value_or(0) >> 8 != kWireless &&
         nic.rate_Gbps.value_or(kSlowestGbps) >= kSlowestGbps;
}

bool has_rdma(const Machine& machine) {
  return std::ranges::any_of(machine.nics, [](const Nic& nic) {
    return nic.kind == NicKind::infiniband || nic.kind == NicKind::roce || nic.kind == NicKind::efa;
  });
}

std::string pcie_text(double speed, int width) {
  return fmt::format("{} GT/s x{}", speed, width);
}

}  // namespace lockstep::topology::findings
