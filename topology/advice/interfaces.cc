#include "topology/advice/interfaces.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <tuple>

namespace lockstep::topology {
namespace {

constexpr std::array<std::string_view, 26> kVirtualNames = {
    "docker", "br-",  "cni", "veth",  "flannel",   "cali",         "cilium", "virbr", "podman",
    "vxlan",  "tun",  "tap", "wg",    "tailscale", "zt",           "kube-",  "dummy", "lxc",
    "lxd",    "vnet", "ovs", "genev", "gre",       "nodelocaldns", "vmnet",  "weave"};

bool is_loopback(const Interface& interface) {
  return interface.kind == InterfaceKind::loopback || interface.name == "lo";
}

bool is_ipv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}

bool is_routable(std::string_view address) {
  if (is_ipv6(address)) {
    return !address.starts_with("fe80") && !address.starts_with("FE80") &&
           !address.starts_with("::1/") && address != "::1";
  }
  return !address.starts_with("169.254.") && !address.starts_with("127.");
}

bool is_two_address_net(std::string_view address) {
  const auto slash = address.find('/');
  if (slash == std::string_view::npos) return false;
  const auto digits = address.substr(slash + 1);
  int prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  return is_ipv6(address) ? prefix == 126 || prefix == 127 : prefix == 30 || prefix == 31;
}

// NCCL passes over an interface without an address.
bool runs(const Interface& interface) {
  return interface.up.value_or(true) && !interface.addresses.empty();
}

}  // namespace

bool is_virtual(const Machine& machine, const Interface& interface) {
  switch (interface.kind) {
    case InterfaceKind::vxlan:
    case InterfaceKind::tunnel:
      return true;
    case InterfaceKind::bridge:
      // A bridge over a real port is how hosts of virtual machines have their own address.
      return std::none_of(machine.interfaces.begin(), machine.interfaces.end(),
                          [&](const Interface& port) {
                            return port.master == interface.name &&
                                   (port.kind == InterfaceKind::physical ||
                                    port.kind == InterfaceKind::bond || port.pci.has_value());
                          });
    case InterfaceKind::veth:  // within a container its own end, eth0, is the way out
    case InterfaceKind::unknown:
      break;
    case InterfaceKind::physical:
    case InterfaceKind::loopback:
    case InterfaceKind::bond:
    case InterfaceKind::vlan:
    case InterfaceKind::infiniband:
      return false;
  }
  return std::any_of(kVirtualNames.begin(), kVirtualNames.end(),
                     [&](std::string_view start) { return interface.name.starts_with(start); });
}

bool is_point_to_point(const Interface& interface) {
  bool any = false;
  for (const std::string& address : interface.addresses) {
    if (!is_routable(address)) continue;
    if (!is_two_address_net(address)) return false;
    any = true;
  }
  return any;
}

bool has_routable_address(const Interface& interface) {
  return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                     [](const std::string& address) { return is_routable(address); });
}

std::vector<int> default_interfaces(const Machine& machine) {
  const auto pick = [&](auto fits) {
    std::vector<int> taken;
    const auto take = [&](auto has_family) {
      for (int i = 0; i < static_cast<int>(machine.interfaces.size()); ++i) {
        const Interface& interface = machine.interfaces[static_cast<std::size_t>(i)];
        if (runs(interface) && fits(interface) && has_family(interface) &&
            std::find(taken.begin(), taken.end(), i) == taken.end()) {
          taken.push_back(i);
        }
      }
    };
    const auto is_ipv4 = [](const std::string& address) { return !is_ipv6(address); };
    take([&](const Interface& interface) {
      return std::any_of(interface.addresses.begin(), interface.addresses.end(), is_ipv4);
    });
    take([](const Interface&) { return true; });
    return taken;
  };
  const auto begins = [](const Interface& interface, std::string_view start) {
    return interface.name.starts_with(start);
  };
  auto taken = pick([&](const Interface& i) { return begins(i, "ib"); });
  if (taken.empty()) {
    taken = pick([&](const Interface& i) {
      return !begins(i, "docker") && !begins(i, "lo") && !begins(i, "virbr");
    });
  }
  return taken;
}

std::optional<int> reachable_interface(const Machine& machine) {
  std::optional<int> best;
  std::tuple<bool, bool> best_rank;
  for (int i = 0; i < static_cast<int>(machine.interfaces.size()); ++i) {
    const Interface& interface = machine.interfaces[static_cast<std::size_t>(i)];
    if (!runs(interface) || !has_routable_address(interface) || is_loopback(interface) ||
        is_virtual(machine, interface) || !interface.master.empty()) {
      continue;
    }
    const bool bond = interface.kind == InterfaceKind::bond || interface.name.starts_with("bond");
    const std::tuple<bool, bool> rank{!is_point_to_point(interface), bond};
    if (!best || rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace lockstep::topology
