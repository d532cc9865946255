#include "topology/draw/speeds.h"

#include <fmt/format.h>

#include "topology/bandwidth.h"
#include "topology/device_tree.h"

namespace lockstep::topology {

const PciDevice& pci_of(const Machine& machine, DeviceId id) {
  const auto at = static_cast<std::size_t>(id.index);
  if (id.kind == DeviceKind::gpu) return machine.gpus[at].pci;
  if (id.kind == DeviceKind::nic) return machine.nics[at].pci;
  if (id.kind == DeviceKind::nvswitch) return machine.nvswitches[at].pci;
  return machine.switches[at].pci;
}

std::optional<double> uplink_GBps(const PciDevice& device) {
  return stated_pcie_GBps(device.link);
}

std::optional<double> link_GBps(const Machine& machine, const Link& link) {
  if (link.GBps) return link.GBps;
  if (link.kind == LinkKind::numa) return numa_GBps(machine.cpu);
  const DeviceId end = link.from.kind == DeviceKind::gpu ? link.from : link.to;
  if (end.kind != DeviceKind::gpu || !has_device(machine, end)) return std::nullopt;
  const Gpu& gpu = machine.gpus[static_cast<std::size_t>(end.index)];
  switch (link.kind) {
    case LinkKind::nvlink: {
      const std::optional<double> one = nvlink_GBps(gpu);
      return one ? std::optional(*one * link.count) : std::nullopt;
    }
    case LinkKind::xgmi:
      return xgmi_GBps(gpu) * link.count;
    case LinkKind::pcie:
      return uplink_GBps(gpu.pci);
    case LinkKind::c2c:
    case LinkKind::numa:
      break;
  }
  return std::nullopt;
}

std::string speed_text(std::optional<double> GBps) {
  return GBps ? fmt::format("{:.3g} GB/s", *GBps) : std::string();
}

}  // namespace lockstep::topology
