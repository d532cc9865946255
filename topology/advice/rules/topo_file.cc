// Sources: NVIDIA/nccl-tests#256, NVIDIA/nccl#749, #1464, #1843; NCCL user guide (NCCL_TOPO_FILE).
#include <fmt/format.h>

#include <algorithm>

#include "topology/advice/rules.h"
#include "topology/bandwidth.h"

namespace lockstep::topology {
namespace {

// Below this no switch with a GPU on it is real: PCIe Gen1 x4 has 0.75.
constexpr double kLeast_GBps = 1;

// 0: not stated.
double claimed_GBps(const Situation& situation, int index) {
  const Switch& bridge = situation.machine.switches[static_cast<std::size_t>(index)];
  if (const auto stated = stated_pcie_GBps(bridge.pci.link)) return *stated;
  for (const Link& up : situation.machine.links) {
    if (up.from == DeviceId{DeviceKind::pcie_switch, index} && up.kind == LinkKind::pcie) {
      return up.GBps.value_or(0);
    }
  }
  return 0;
}

// Devices below a switch are links that end there.
bool carries_device(const Machine& machine, int index) {
  return std::any_of(machine.links.begin(), machine.links.end(), [&](const Link& link) {
    return link.to == DeviceId{DeviceKind::pcie_switch, index} && link.kind == LinkKind::pcie &&
           (link.from.kind == DeviceKind::gpu || link.from.kind == DeviceKind::nic);
  });
}

std::string shown(const Switch& bridge, int index, double GBps) {
  std::string text = fmt::format("SW{}", index);
  if (bridge.pci.vendor && bridge.pci.device) {
    text += fmt::format(" {:04x}:{:04x}", *bridge.pci.vendor, *bridge.pci.device);
  }
  if (bridge.pci.address) text += fmt::format(" at {}", to_string(*bridge.pci.address));
  if (bridge.pci.link.max_speed && bridge.pci.link.max_width) {
    text += fmt::format(": {:g} GT/s x{}", *bridge.pci.link.max_speed, *bridge.pci.link.max_width);
  }
  return text + fmt::format(" = {:.1f} GB/s", GBps);
}

}  // namespace

Ruling topo_file(const Situation& situation) {
  const Machine& machine = situation.machine;
  std::vector<std::string> evidence;
  for (int i = 0; i < static_cast<int>(machine.switches.size()); ++i) {
    const double GBps = claimed_GBps(situation, i);
    if (GBps > 0 && GBps < kLeast_GBps && carries_device(machine, i)) {
      evidence.push_back(shown(machine.switches[static_cast<std::size_t>(i)], i, GBps));
    }
  }
  if (!evidence.empty()) {
    Advice advice{.variable = "NCCL_TOPO_FILE",
                  .value = situation.options.topo_file,
                  .reason =
                      "NCCL believes a virtual switch that claims next to nothing, and plans "
                      "around it; make the "
                      "file on this host with `lockstep probe --format nccl-xml`",
                  .evidence = std::move(evidence)};
    return {{advice}, {}, {}};
  }
  if (situation.rails.affinity != Affinity::hidden || !situation.crosses_hosts()) return {};
  return {{},
          {{"NCCL_TOPO_FILE",
            "the PCI tree is hidden here, and only the real host or the provider knows it: ask for "
            "its topology file (Azure: /opt/microsoft/*/topo.xml)"}},
          {}};
}

}  // namespace lockstep::topology
