#include "topology/probe/access_control.h"

#include <algorithm>
#include <set>

namespace lockstep::topology {
namespace {

constexpr std::size_t kConfigurationSize = 4096;
constexpr std::size_t kExtended = 0x100;
constexpr std::uint32_t kAccessControl = 0x0d;
constexpr int kDeepest = 32;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return word;
}

std::set<PciAddress> bridges_above_devices(const PciTree& pci, const Machine& machine) {
  std::set<PciAddress> bridges;
  const auto climb = [&](std::optional<PciAddress> address) {
    for (int depth = 0; address && depth < kDeepest; ++depth) {
      const auto function = pci.find(*address);
      if (function == pci.end()) return;
      address = function->second.parent;
      if (address) bridges.insert(*address);
    }
  };
  for (const Gpu& gpu : machine.gpus) climb(gpu.pci.address);
  for (const Nic& nic : machine.nics) climb(nic.pci.address);
  return bridges;
}

bool any(const AccessControl& control) {
  return control.source_validation || control.request_redirect || control.completion_redirect ||
         control.upstream_forwarding;
}

}  // namespace

std::optional<AccessControl> access_control_of(std::string_view configuration) {
  std::size_t at = kExtended;
  // Each capability takes 8 bytes or more, so a longer chain is a circle.
  for (std::size_t seen = 0; seen < kConfigurationSize / 8; ++seen) {
    if (at < kExtended || at + 8 > configuration.size()) return std::nullopt;
    const std::uint32_t header = word_at(configuration, at);
    if ((header & 0xffffU) == kAccessControl) {
      const std::uint32_t control = word_at(configuration, at + 4) >> 16;
      return AccessControl{.source_validation = (control & 1U) != 0,
                           .request_redirect = (control & 4U) != 0,
                           .completion_redirect = (control & 8U) != 0,
                           .upstream_forwarding = (control & 16U) != 0};
    }
    at = header >> 20;
  }
  return std::nullopt;
}

void read_access_control(const FileTree& tree, const PciTree& pci, Machine& machine) {
  for (const PciAddress address : bridges_above_devices(pci, machine)) {
    const auto function = pci.find(address);
    if (function == pci.end()) continue;
    const FileText file =
        tree.read("/sys/bus/pci/devices/" + to_string(address) + "/config", kConfigurationSize);
    const auto control = access_control_of(file.text);
    if (!control) continue;
    const auto known = std::ranges::find(machine.switches, std::optional(address),
                                         [](const Switch& each) { return each.pci.address; });
    if (known != machine.switches.end())
      known->access_control = control;
    else if (any(*control))
      machine.switches.push_back(
          {.pci = function->second.pci, .access_control = control, .name = function->second.name});
  }
}

}  // namespace lockstep::topology
