#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "topology/pci_vendors.h"
#include "topology/probe/values.h"
#include "topology/readers/hwloc_parts.h"

namespace lockstep::topology {
namespace {

constexpr std::uint32_t kIntel = 0x8086;
constexpr std::uint32_t kAmazon = 0x1d0f;
constexpr std::size_t kInfinibandAddress = 59;  // 20 bytes in hexadecimal with colons
constexpr int kMostPorts = 16;

// The operating system's devices of one PCI function.
struct Devices {
  std::vector<const HwlocObject*> networks, rdma;
};

bool is_virtual(const PciFunction& function) {
  if (function.name.find("Virtual Function") != std::string::npos) return true;
  // Numbers of the PCI database, for files without names.
  constexpr std::array<std::uint32_t, 8> kMellanoxVirtual{0x1002, 0x1004, 0x1014, 0x1016,
                                                          0x1018, 0x101a, 0x101c, 0x101e};
  constexpr std::array<std::uint32_t, 6> kIntelVirtual{0x10ca, 0x10ed, 0x1515,
                                                       0x1520, 0x154c, 0x1889};
  const std::uint32_t device = function.pci.device.value_or(0);
  if (function.pci.vendor == kMellanox)
    return std::ranges::find(kMellanoxVirtual, device) != kMellanoxVirtual.end();
  return function.pci.vendor == kIntel &&
         std::ranges::find(kIntelVirtual, device) != kIntelVirtual.end();
}

std::map<PciAddress, Devices> devices_by_function(const HwlocFile& file) {
  std::map<PciAddress, Devices> found;
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    const HwlocObject& object = file.objects()[i];
    if (object.type != "OSDev") continue;
    const OsDeviceKind kind = file.os_device_kind(object);
    if (kind != OsDeviceKind::network && kind != OsDeviceKind::rdma) continue;
    const int parent =
        file.above(static_cast<int>(i), [](const HwlocObject& o) { return o.address.has_value(); });
    if (parent == HwlocObject::kNone) continue;
    Devices& devices = found[*file.objects()[static_cast<std::size_t>(parent)].address];
    (kind == OsDeviceKind::rdma ? devices.rdma : devices.networks).push_back(&object);
  }
  return found;
}

std::string port_info(const HwlocObject& rdma, int port, const char* what) {
  return rdma.info(fmt::format("Port{}{}", port, what).c_str());
}

// An InfiniBand port has a local id; one of Ethernet has none.
NicKind kind_of(const HwlocObject& rdma, int port, const Nic& nic, std::string_view link_address) {
  const std::string name(rdma.attribute("name"));
  if (nic.pci.vendor == kAmazon) return NicKind::efa;
  if (name.starts_with("usnic") || name.starts_with("scif")) return NicKind::other;
  const auto lid = parse_hex(port_info(rdma, port, "LID"));
  const bool infiniband = nic.pci.class_code.value_or(0) >> 8 == 0x0207;
  if (infiniband || (lid && *lid != 0) || link_address.size() == kInfinibandAddress)
    return NicKind::infiniband;
  return lid ? NicKind::roce : NicKind::unknown;
}

// The interface of a port: the one that names it, or the only one.
const HwlocObject* interface_of(const Devices& devices, int port) {
  for (const HwlocObject* each : devices.networks) {
    if (parse_integer(each->info("Port")) == port) return each;
  }
  return devices.networks.size() == 1 ? devices.networks.front() : nullptr;
}

Nic of_port(const HwlocObject& rdma, int port, const Devices& devices, Nic nic) {
  nic.name = rdma.attribute("name");
  nic.guid = rdma.info("NodeGUID");
  nic.port = port;
  if (const auto state = parse_integer(port_info(rdma, port, "State")))
    nic.state = *state == 4 ? NicState::active : NicState::down;
  const HwlocObject* const interface = interface_of(devices, port);
  if (interface != nullptr) nic.netdev = interface->attribute("name");
  nic.kind =
      kind_of(rdma, port, nic, interface != nullptr ? interface->info("Address") : std::string());
  for (int i = 0; i < 256; ++i) {
    auto address = port_info(rdma, port, fmt::format("GID{}", i).c_str());
    if (address.empty()) break;
    nic.gids.push_back({.index = i, .address = std::move(address), .type = "", .netdev = ""});
  }
  return nic;
}

void add_nics(const Devices& devices, const Nic& common, Machine& machine) {
  for (const HwlocObject* rdma : devices.rdma) {
    bool any = false;
    for (int port = 1; port <= kMostPorts; ++port) {
      if (port_info(*rdma, port, "State").empty()) continue;
      machine.nics.push_back(of_port(*rdma, port, devices, common));
      any = true;
    }
    if (!any) machine.nics.push_back(of_port(*rdma, 1, devices, common));
  }
  if (!devices.rdma.empty()) return;
  for (const HwlocObject* network : devices.networks) {
    Nic nic = common;
    nic.name = network->attribute("name");
    nic.netdev = nic.name;
    nic.kind = network->info("Address").size() == kInfinibandAddress ? NicKind::infiniband
                                                                     : NicKind::ethernet;
    machine.nics.push_back(std::move(nic));
  }
}

void report_collapsed(const std::map<PciAddress, int>& collapsed, Machine& machine) {
  for (const auto& [address, count] : collapsed) {
    const auto nic = std::ranges::find(machine.nics, std::optional(address),
                                       [](const Nic& each) { return each.pci.address; });
    const std::string name = nic != machine.nics.end() ? nic->name : to_string(address);
    machine.findings.push_back(
        {.severity = Severity::info,
         .code = "virtual-functions",
         .message = fmt::format("{} virtual or unused functions beside {} ({}) are counted as that "
                                "NIC",
                                count, to_string(address), name),
         .where = name,
         .remedy = {}});
  }
}

// Whose a function without devices, or a virtual one, is: a physical function with devices on the
// same bus, else one below the same bridge.
class Owners {
 public:
  Owners(const PciTree& pci, const std::map<PciAddress, Devices>& devices) {
    for (const auto& [address, _] : devices) {
      const auto found = pci.find(address);
      if (found == pci.end() || !is_network(found->second.pci) || is_virtual(found->second))
        continue;
      by_bus_.emplace(PciAddress{address.domain, address.bus, 0, 0}, address);
      if (found->second.parent) by_bridge_.emplace(*found->second.parent, address);
    }
  }

  [[nodiscard]] std::optional<PciAddress> of(const PciFunction& function) const {
    const PciAddress at = *function.pci.address;
    const auto same_bus = by_bus_.find(PciAddress{at.domain, at.bus, 0, 0});
    if (same_bus != by_bus_.end()) return same_bus->second;
    const auto same_bridge = function.parent ? by_bridge_.find(*function.parent) : by_bridge_.end();
    return same_bridge != by_bridge_.end() ? std::optional(same_bridge->second) : std::nullopt;
  }

 private:
  std::map<PciAddress, PciAddress> by_bus_, by_bridge_;  // the first of each
};

}  // namespace

void read_hwloc_nics(const HwlocFile& file, const PciTree& pci, Machine& machine) {
  const auto devices = devices_by_function(file);
  const Owners owners(pci, devices);
  std::map<PciAddress, int> collapsed;
  std::set<PciAddress> done;
  std::set<PciAddress> slots;  // of functions without devices: one NIC a slot
  for (const HwlocObject& object : file.objects()) {
    if (object.type != "PCIDev" || !object.address) continue;
    const auto at = pci.find(*object.address);
    if (at == pci.end() || !done.insert(*object.address).second) continue;
    const PciFunction& function = at->second;
    const auto own = devices.find(*object.address);
    const bool has_devices = own != devices.end();
    if (!has_devices && !is_network(function.pci)) continue;
    const bool is_vf = is_virtual(function);
    const auto owner = !has_devices || is_vf ? owners.of(function) : std::nullopt;
    if (owner) {
      ++collapsed[*owner];
      continue;
    }
    Nic nic;
    nic.pci = function.pci;
    nic.board = function.name;
    nic.numa = nearest_numa(machine, function);
    nic.virtual_function = is_vf;
    if (has_devices) {
      add_nics(own->second, nic, machine);
      continue;
    }
    PciAddress slot = *object.address;
    slot.function = 0;
    if (is_vf || !slots.insert(slot).second) continue;
    nic.name = to_string(*object.address);
    machine.nics.push_back(std::move(nic));
  }
  report_collapsed(collapsed, machine);
}

}  // namespace lockstep::topology
