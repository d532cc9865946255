#include "topology/probe/net.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "topology/probe/pci.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";
constexpr std::uint32_t kIffUp = 1;
constexpr std::size_t kMostInterfaces = 4096;
constexpr std::uint32_t kAmazon = 0x1d0f;

// "DEVTYPE=vlan" of a uevent: "vlan".
std::string device_type(const FileTree& tree, const std::string& folder) {
  const std::string text = read_value(tree, folder + "/uevent").value_or("");
  constexpr std::string_view kKey = "DEVTYPE=";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t from = at + kKey.size();
  return text.substr(from, text.find('\n', from) - from);
}

bool has_lower(const FileTree& tree, const std::string& folder) {
  const auto names = tree.list(folder);
  return std::ranges::any_of(names, [](const std::string& n) { return n.starts_with("lower_"); });
}

// ARPHRD numbers of if_arp.h.
InterfaceKind kind_of(const FileTree& tree, const std::string& folder, const std::string& name) {
  const auto type = read_integer(tree, folder + "/type");
  if (type == 772 || name == "lo") return InterfaceKind::loopback;
  if (type == 32) return InterfaceKind::infiniband;
  const std::string device = device_type(tree, folder);
  if (device == "bridge" || tree.exists(folder + "/bridge")) return InterfaceKind::bridge;
  if (device == "bond" || tree.exists(folder + "/bonding")) return InterfaceKind::bond;
  if (device == "vlan" || tree.exists("/proc/net/vlan/" + name)) return InterfaceKind::vlan;
  if (device == "vxlan") return InterfaceKind::vxlan;
  if (tree.exists(folder + "/device")) return InterfaceKind::physical;
  // 768 to 778: tunnels in IP, GRE and SIT; 823: GRE in IPv6; 65534: no link header (tun,
  // wireguard).
  if (type && ((*type >= 768 && *type <= 778) || *type == 823 || *type == 65534))
    return InterfaceKind::tunnel;
  if (tree.exists(folder + "/tun_flags")) return InterfaceKind::tunnel;
  const auto index = read_integer(tree, folder + "/ifindex");
  const auto peer = read_integer(tree, folder + "/iflink");
  // A pair's other end has another number; what lies on a lower interface (macvlan) has that too.
  if (index && peer && *index != *peer && !has_lower(tree, folder)) return InterfaceKind::veth;
  return InterfaceKind::unknown;
}

// IFF_RUNNING, which /sys does not show: the interface is up, and so is what it hangs on.
std::optional<bool> is_up(const FileTree& tree, const std::string& folder) {
  const auto flags = read_hex(tree, folder + "/flags");
  const auto state = read_value(tree, folder + "/operstate");
  if (!flags && !state) return std::nullopt;
  if (flags && (*flags & kIffUp) == 0) return false;
  return !state || *state == "up" || *state == "unknown";
}

// arp_ignore, of which the kernel takes the greater of the interface's and that of all.
std::optional<bool> has_own_arp(const FileTree& tree, const std::string& name) {
  constexpr std::string_view kFile = "/proc/sys/net/ipv4/conf/{}/arp_ignore";
  const auto of_all = read_integer(tree, fmt::format(kFile, "all"));
  const auto own = read_integer(tree, fmt::format(kFile, name));
  if (!of_all || !own) return std::nullopt;
  return std::max(*of_all, *own) > 0;
}

// Whether an RDMA adapter stands for this interface, or for the bond it is a slave of.
bool belongs_to_rdma(const Machine& machine, const Interface& interface) {
  return std::ranges::any_of(machine.nics, [&](const Nic& nic) {
    if (nic.netdev == interface.name) return true;
    if (!nic.netdev.empty() && nic.netdev == interface.master) return true;
    return nic.pci.address && nic.pci.address == interface.pci;
  });
}

Nic of_interface(const Machine& machine, const PciTree& pci, const Interface& interface) {
  Nic nic;
  nic.name = interface.name;
  nic.netdev = interface.name;
  nic.kind = NicKind::ethernet;
  nic.rate_Gbps = interface.rate_Gbps;
  nic.pci.address = interface.pci;
  if (interface.up) nic.state = *interface.up ? NicState::active : NicState::down;
  const auto function = interface.pci ? pci.find(*interface.pci) : pci.end();
  if (function != pci.end()) {
    nic.pci = function->second.pci;
    nic.virtual_function = function->second.virtual_function;
    nic.numa = nearest_numa(machine, function->second);
  }
  return nic;
}

}  // namespace

void read_interfaces(const FileTree& tree, Machine& machine) {
  const auto names = tree.list(kInterfaces);
  if (names.empty()) machine.findings.push_back(unreadable("the network interfaces", kInterfaces));
  for (const std::string& name : names) {
    if (machine.interfaces.size() >= kMostInterfaces) break;
    if (name == "bonding_masters") continue;  // a file among the folders
    const std::string folder = fmt::format("{}/{}", kInterfaces, name);
    Interface interface;
    interface.name = name;
    interface.kind = kind_of(tree, folder, name);
    interface.up = is_up(tree, folder);
    interface.master = link_name(tree, folder + "/master").value_or("");
    const auto speed = read_integer(tree, folder + "/speed");  // Mb/s; -1: not known
    if (speed && *speed > 0 && *speed < 0xffffffff)
      interface.rate_Gbps = static_cast<double>(*speed) / 1000;
    interface.own_arp = has_own_arp(tree, name);
    if (const auto real = tree.real_path(folder + "/device")) interface.pci = function_of(*real);
    machine.interfaces.push_back(std::move(interface));
  }
}

void read_ethernet(const FileTree& tree, const PciTree& pci, Machine& machine) {
  for (const Interface& interface : machine.interfaces) {
    const bool adapter = interface.kind == InterfaceKind::physical ||
                         (interface.kind == InterfaceKind::infiniband && interface.pci);
    if (!adapter || belongs_to_rdma(machine, interface)) continue;
    Nic nic = of_interface(machine, pci, interface);
    if (interface.kind == InterfaceKind::infiniband) nic.kind = NicKind::infiniband;
    machine.nics.push_back(std::move(nic));
  }
  std::set<PciAddress> known;
  for (const Nic& nic : machine.nics) {
    if (nic.pci.address) known.insert(*nic.pci.address);
  }
  for (const auto& [address, function] : pci) {
    if (!is_network(function.pci) || function.virtual_function) continue;
    const std::string folder = "/sys/bus/pci/devices/" + to_string(address);
    // Without a driver it is nobody's yet; with one, its interface may be in another namespace.
    if (known.contains(address)) continue;
    Nic nic;
    nic.name = to_string(address);
    nic.pci = function.pci;
    nic.numa = nearest_numa(machine, function);
    // Amazon's EFA is efa0 to efa3; its plain adapters have other numbers.
    if (function.pci.vendor == kAmazon && function.pci.device.value_or(0) >> 4 == 0xefa)
      nic.kind = NicKind::efa;
    machine.nics.push_back(std::move(nic));
    machine.findings.push_back(
        {.severity = Severity::info,
         .code = "nic-without-interface",
         .message =
             fmt::format("the network adapter at {} has no interface here: {}", nic.name,
                         tree.exists(folder + "/driver") ? "it may be in another network namespace"
                                                         : "no driver is bound to it"),
         .where = nic.name,
         .remedy = "load its driver, or ignore it where it is not meant to be used"});
  }
}

}  // namespace lockstep::topology
