// The name of a device within one machine.
//
// Thread rule: a value.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

enum class DeviceKind { gpu, nic, pcie_switch, nvswitch, numa };

struct DeviceId {
  DeviceKind kind = DeviceKind::gpu;
  // The position in the machine's list of that kind; of a NUMA node the operating system's own
  // number (-1: a machine whose nodes are not known has one node of that number).
  int index = 0;

  auto operator<=>(const DeviceId&) const = default;
};

// "GPU0", "NIC3", "SW2", "NVS0", "NUMA1".
[[nodiscard]] std::string to_string(DeviceId id);
[[nodiscard]] std::optional<DeviceId> parse_device_id(std::string_view text);

}  // namespace lockstep::topology
