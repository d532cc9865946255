#include "topology/device_id.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace lockstep::topology {
namespace {

constexpr std::array kPrefixes{
    std::pair{DeviceKind::gpu, std::string_view("GPU")},
    std::pair{DeviceKind::nic, std::string_view("NIC")},
    std::pair{DeviceKind::pcie_switch, std::string_view("SW")},
    std::pair{DeviceKind::nvswitch, std::string_view("NVS")},
    std::pair{DeviceKind::numa, std::string_view("NUMA")},
};

}  // namespace

std::string to_string(DeviceId id) {
  for (const auto& [kind, prefix] : kPrefixes) {
    if (kind == id.kind) return fmt::format("{}{}", prefix, id.index);
  }
  return {};
}

std::optional<DeviceId> parse_device_id(std::string_view text) {
  for (const auto& [kind, prefix] : kPrefixes) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view digits = text.substr(prefix.size());
    int index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) continue;
    if (index < (kind == DeviceKind::numa ? -1 : 0)) continue;
    return DeviceId{kind, index};
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
