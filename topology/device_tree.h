// Which device hangs off which, as PCIe links have it.
//
// Each device has one way up, the first that is stated; a link to a second switch is one between
// switches. Thread rule: a value.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

class DeviceTree {
 public:
  // Links that name devices the machine has not got are passed over. A damaged recording's links
  // may form rings: who goes down the tree counts how deep.
  explicit DeviceTree(const Machine& machine);

  // The switch or NUMA node above; empty for what hangs off nothing.
  [[nodiscard]] std::optional<DeviceId> above(DeviceId id) const;
  // In the order of the machine's links.
  [[nodiscard]] const std::vector<DeviceId>& below(DeviceId id) const;
  // Numbers of the NUMA nodes from which something hangs, ascending.
  [[nodiscard]] std::vector<int> numa() const;

 private:
  std::map<DeviceId, DeviceId> up_;
  std::map<DeviceId, std::vector<DeviceId>> below_;
};

// Whether `id` is in the machine's list of that kind; any NUMA node is.
[[nodiscard]] bool has_device(const Machine& machine, DeviceId id);

}  // namespace lockstep::topology
