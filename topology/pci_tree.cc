#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/pci_vendors.h"

namespace lockstep::topology {
namespace {

constexpr int kDeepest = 32;  // PCI buses nest less deep than that

std::uint32_t upper_class(const PciDevice& pci) {
  return pci.class_code.value_or(0) >> 8;
}

// The switch above: the second bridge up.
std::optional<PciAddress> switch_above(const PciTree& tree, const PciFunction& function) {
  if (!function.parent) return std::nullopt;
  const auto port = tree.find(*function.parent);
  if (port == tree.end() || !port->second.parent) return std::nullopt;
  return tree.contains(*port->second.parent) ? port->second.parent : std::nullopt;
}

void link(Machine& machine, DeviceId from, DeviceId to, std::optional<double> GBps) {
  machine.links.push_back(
      {.from = from, .to = to, .kind = LinkKind::pcie, .count = 1, .GBps = GBps});
}

}  // namespace

bool is_gpu(const PciDevice& pci) {
  const std::uint32_t kind = upper_class(pci);
  if (pci.vendor == kNvidia) return kind >> 8 == 0x03;
  // Display controllers of AMD that are no graphics cards, and "processing accelerators" (MI300).
  return pci.vendor == kAmd && (kind == 0x0380 || kind == 0x1200);
}

bool is_network(const PciDevice& pci) {
  return pci.class_code && upper_class(pci) >> 8 == 0x02;
}

bool is_nvswitch(const PciDevice& pci) {
  return pci.vendor == kNvidia && upper_class(pci) == 0x0680;
}

std::optional<int> nearest_numa(const Machine& machine, const PciFunction& function) {
  if (function.numa && find_numa(machine, *function.numa) != nullptr) return function.numa;
  if (function.cpus && !function.cpus->empty()) {
    for (const NumaNode& node : machine.numa) {
      if (node.cpus == *function.cpus) return node.id;
    }
  }
  if (machine.numa.size() == 1) return machine.numa.front().id;
  return std::nullopt;
}

void attach(Machine& machine, const PciTree& tree, DeviceId device,
            std::optional<PciAddress> address) {
  const auto start = address ? tree.find(*address) : tree.end();
  if (start == tree.end()) {
    if (!machine.numa.empty())
      link(machine, device, {DeviceKind::numa, machine.numa.front().id}, std::nullopt);
    return;
  }
  DeviceId from = device;
  const PciFunction* function = &start->second;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto above = switch_above(tree, *function);
    if (!above) break;
    const auto known = std::ranges::find(machine.switches, above,
                                         [](const Switch& each) { return each.pci.address; });
    const DeviceId to{DeviceKind::pcie_switch, static_cast<int>(known - machine.switches.begin())};
    link(machine, from, to, function->GBps);
    if (known != machine.switches.end()) return;  // its own way up is there already
    function = &tree.at(*above);
    machine.switches.push_back(
        {.pci = function->pci, .access_control = std::nullopt, .name = function->name});
    from = to;
  }
  auto numa = nearest_numa(machine, *function);
  if (!numa) numa = nearest_numa(machine, start->second);
  if (numa) {
    link(machine, from, {DeviceKind::numa, *numa}, function->GBps);
    return;
  }
  if (machine.numa.empty()) return;
  machine.findings.push_back(
      {.severity = Severity::info,
       .code = "unknown-locality",
       .message =
           fmt::format("the NUMA node of {} is not known: neither numa_node nor the near "
                       "CPUs of {} name one of the machine's {} nodes",
                       to_string(device), to_string(*function->pci.address), machine.numa.size()),
       .where = to_string(device),
       .remedy = "look whether the firmware describes the slot's locality"});
}

void connect_numa_nodes(Machine& machine) {
  std::vector<int> ids;
  for (const NumaNode& node : machine.numa) {
    if (!node.cpus.empty()) ids.push_back(node.id);
  }
  constexpr std::size_t kMost = 64;
  if (ids.size() > kMost) return;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = i + 1; j < ids.size(); ++j) {
      machine.links.push_back({.from = {DeviceKind::numa, ids[i]},
                               .to = {DeviceKind::numa, ids[j]},
                               .kind = LinkKind::numa,
                               .count = 1,
                               .GBps = std::nullopt});
    }
  }
}

}  // namespace lockstep::topology
