#include "topology/device_tree.h"

namespace lockstep::topology {

DeviceTree::DeviceTree(const Machine& machine) {
  for (const Link& link : machine.links) {
    const bool leads_up =
        link.kind == LinkKind::pcie && link.from != link.to &&
        (link.to.kind == DeviceKind::pcie_switch || link.to.kind == DeviceKind::numa);
    if (!leads_up || !has_device(machine, link.from) || !has_device(machine, link.to)) continue;
    if (up_.try_emplace(link.from, link.to).second) below_[link.to].push_back(link.from);
  }
}

std::optional<DeviceId> DeviceTree::above(DeviceId id) const {
  const auto found = up_.find(id);
  return found == up_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<DeviceId>& DeviceTree::below(DeviceId id) const {
  static const std::vector<DeviceId> kNothing;
  const auto found = below_.find(id);
  return found == below_.end() ? kNothing : found->second;
}

std::vector<int> DeviceTree::numa() const {
  std::vector<int> ids;
  for (const auto& [id, devices] : below_) {
    if (id.kind == DeviceKind::numa) ids.push_back(id.index);
  }
  return ids;
}

bool has_device(const Machine& machine, DeviceId id) {
  const auto is_in = [&id](const auto& list) {
    return id.index >= 0 && id.index < static_cast<int>(list.size());
  };
  switch (id.kind) {
    case DeviceKind::gpu:
      return is_in(machine.gpus);
    case DeviceKind::nic:
      return is_in(machine.nics);
    case DeviceKind::pcie_switch:
      return is_in(machine.switches);
    case DeviceKind::nvswitch:
      return is_in(machine.nvswitches);
    case DeviceKind::numa:
      return true;
  }
  return false;
}

}  // namespace lockstep::topology
