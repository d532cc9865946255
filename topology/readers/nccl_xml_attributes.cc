#include "topology/readers/nccl_xml_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "topology/bandwidth.h"
#include "topology/pci_vendors.h"

namespace lockstep::topology {
namespace {

template <typename Value, typename... Base>
std::optional<Value> parsed(std::string_view text, Base... base) {
  Value value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&name](std::string_view each) { return name.starts_with(each); });
}

constexpr std::uint32_t kAmazon = 0x1d0f;
constexpr std::uint32_t kEfaDevices = 0xefa;  // 0xefa0 to 0xefaf

}  // namespace

std::optional<int> int_attribute(pugi::xml_node node, const char* name) {
  return parsed<int>(text_attribute(node, name));
}

std::optional<double> number_attribute(pugi::xml_node node, const char* name) {
  const auto value = parsed<double>(text_attribute(node, name));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::uint32_t> hex_attribute(pugi::xml_node node, const char* name) {
  std::string_view text = text_attribute(node, name);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parsed<std::uint32_t>(text, 16);
}

std::string_view text_attribute(pugi::xml_node node, const char* name) {
  return node.attribute(name).value();
}

PciDevice pci_of(pugi::xml_node pci) {
  PciDevice device;
  device.address = parse_pci_address(text_attribute(pci, "busid"));
  device.class_code = hex_attribute(pci, "class");
  device.vendor = hex_attribute(pci, "vendor");
  device.device = hex_attribute(pci, "device");
  device.subsystem_vendor = hex_attribute(pci, "subsystem_vendor");
  device.subsystem_device = hex_attribute(pci, "subsystem_device");
  device.link.as_written = text_attribute(pci, "link_speed");
  device.link.max_speed = pcie_speed(device.link.as_written);
  const auto width = int_attribute(pci, "link_width");
  if (width && *width > 0 && *width <= 32) device.link.max_width = width;
  return device;
}

PciRole role_of(pugi::xml_node pci) {
  if (pci.child("gpu")) return PciRole::gpu;
  if (pci.child("nic") || pci.child("net")) return PciRole::nic;
  const bool has_devices = !pci.child("pci").empty();
  const auto code = hex_attribute(pci, "class");
  if (!code || *code == 0) return has_devices ? PciRole::pcie_switch : PciRole::unknown;
  if (*code == 0x060400 || *code == 0x080100) return PciRole::pcie_switch;
  if (*code == 0x068000) return PciRole::nvswitch;
  if (*code == 0x068001) return PciRole::cpu_bridge;
  if (*code >> 16 == 0x03 || *code == 0x120000) return PciRole::gpu;
  if (*code >> 16 == 0x02) return PciRole::nic;
  return has_devices ? PciRole::pcie_switch : PciRole::other;
}

NicKind nic_kind(const PciDevice& pci, std::string_view name) {
  const std::uint32_t code = pci.class_code.value_or(0) >> 8;
  if (code == 0x0207 || name.starts_with("ibp")) return NicKind::infiniband;
  if (pci.vendor == kAmazon && pci.device.value_or(0) >> 4 == kEfaDevices) return NicKind::efa;
  if (starts_with_any(name, {"rdmap", "efa"})) return NicKind::efa;
  if (starts_with_any(name, {"bnxt_re", "irdma", "rocep", "erdma"})) return NicKind::roce;
  if (name.starts_with("mlx")) return code == 0x0200 ? NicKind::roce : NicKind::unknown;
  if (starts_with_any(name, {"eth", "en", "bond"})) return NicKind::ethernet;
  return NicKind::unknown;
}

std::string amd_architecture(pugi::xml_node gpu) {
  const std::string_view code = text_attribute(gpu, "gcn");
  if (code.starts_with("gfx")) return std::string(code.substr(0, code.find(':')));
  if (code == "910") return "gfx90a";
  if (!code.empty()) return fmt::format("gfx{}", code);
  return hex_attribute(gpu.parent(), "vendor") == kAmd ? "AMD" : "";
}

}  // namespace lockstep::topology
