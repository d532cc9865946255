#include "topology/interface_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "topology/letters.h"

namespace lockstep::topology {
namespace {

struct Convention {
  // '#' stands for one digit or more, '%' for one hexadecimal digit or more, '*' (at the end) for
  // anything; all else for itself.
  std::string_view pattern;
  InterfaceKind kind;
};

// The first that fits decides.
constexpr std::array kConventions{
    Convention{"lo", InterfaceKind::loopback},
    Convention{"dummy*", InterfaceKind::loopback},
    Convention{"kube-ipvs#", InterfaceKind::loopback},
    Convention{"nodelocaldns", InterfaceKind::loopback},

    Convention{"flannel*", InterfaceKind::vxlan},
    Convention{"genev*", InterfaceKind::vxlan},
    Convention{"cilium_geneve", InterfaceKind::vxlan},

    Convention{"docker*", InterfaceKind::bridge},
    Convention{"br-*", InterfaceKind::bridge},
    Convention{"br#", InterfaceKind::bridge},
    Convention{"bridge#", InterfaceKind::bridge},
    Convention{"cni*", InterfaceKind::bridge},
    Convention{"cbr#", InterfaceKind::bridge},
    Convention{"kube-bridge", InterfaceKind::bridge},
    Convention{"virbr*", InterfaceKind::bridge},
    Convention{"vmbr#", InterfaceKind::bridge},
    Convention{"lxcbr#", InterfaceKind::bridge},
    Convention{"lxdbr#", InterfaceKind::bridge},
    Convention{"incusbr#", InterfaceKind::bridge},
    Convention{"podman#", InterfaceKind::bridge},
    Convention{"nerdctl#", InterfaceKind::bridge},
    Convention{"ovs-system", InterfaceKind::bridge},

    Convention{"bond*", InterfaceKind::bond},
    Convention{"team#", InterfaceKind::bond},

    Convention{"vlan#*", InterfaceKind::vlan},

    Convention{"veth*", InterfaceKind::veth},
    Convention{"cali*", InterfaceKind::veth},
    Convention{"lxc*", InterfaceKind::veth},
    Convention{"cilium_host", InterfaceKind::veth},
    Convention{"cilium_net", InterfaceKind::veth},
    Convention{"azv%", InterfaceKind::veth},
    Convention{"gke%", InterfaceKind::veth},
    Convention{"eni%", InterfaceKind::veth},

    Convention{"tun#", InterfaceKind::tunnel},
    Convention{"tunl#", InterfaceKind::tunnel},
    Convention{"tap*", InterfaceKind::tunnel},
    Convention{"vnet#", InterfaceKind::tunnel},
    Convention{"wg*", InterfaceKind::tunnel},
    Convention{"tailscale*", InterfaceKind::tunnel},
    Convention{"zt*", InterfaceKind::tunnel},
    Convention{"nebula*", InterfaceKind::tunnel},
    Convention{"ppp#", InterfaceKind::tunnel},
    Convention{"gre#", InterfaceKind::tunnel},
    Convention{"gretap#", InterfaceKind::tunnel},
    Convention{"erspan#", InterfaceKind::tunnel},
    Convention{"sit#", InterfaceKind::tunnel},
    Convention{"ip6tnl#", InterfaceKind::tunnel},
    Convention{"ip6gre#", InterfaceKind::tunnel},
    Convention{"ip_vti#", InterfaceKind::tunnel},
    Convention{"ip6_vti#", InterfaceKind::tunnel},

    Convention{"ib#*", InterfaceKind::infiniband},
    Convention{"ibp#*", InterfaceKind::infiniband},
    Convention{"ibP#*", InterfaceKind::infiniband},
    Convention{"ibs#*", InterfaceKind::infiniband},
    Convention{"ibo#*", InterfaceKind::infiniband},
    Convention{"ibx%", InterfaceKind::infiniband},

    Convention{"eth#*", InterfaceKind::physical},
    Convention{"em#", InterfaceKind::physical},
    Convention{"eno#*", InterfaceKind::physical},
    Convention{"ens#*", InterfaceKind::physical},
    Convention{"enp#*", InterfaceKind::physical},
    Convention{"enP#*", InterfaceKind::physical},
    Convention{"enx%", InterfaceKind::physical},
    Convention{"p#p#*", InterfaceKind::physical},
    Convention{"wl*", InterfaceKind::physical},
};

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool fits(std::string_view name, std::string_view pattern) {
  for (const char want : pattern) {
    if (want == '*') return true;
    if (want == '#' || want == '%') {
      const auto end = std::ranges::find_if_not(name, want == '#' ? is_digit : is_hexadecimal);
      if (end == name.begin()) return false;
      name.remove_prefix(static_cast<std::size_t>(end - name.begin()));
    } else {
      if (name.empty() || name.front() != want) return false;
      name.remove_prefix(1);
    }
  }
  return name.empty();
}

InterfaceKind kind_by_convention(std::string_view name) {
  const auto found = std::ranges::find_if(kConventions, [name](const Convention& convention) {
    return fits(name, convention.pattern);
  });
  return found == kConventions.end() ? InterfaceKind::unknown : found->kind;
}

// "bond0.100": a number, and nothing else, behind the last point.
bool has_number_behind_point(std::string_view name) {
  const std::size_t point = name.rfind('.');
  return point != std::string_view::npos && point > 0 && fits(name.substr(point + 1), "#");
}

}  // namespace

InterfaceKind kind_of_interface_name(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view below = at == std::string_view::npos ? "" : name.substr(at + 1);
  name = name.substr(0, at);
  if (name.find("vxlan") != std::string_view::npos) return InterfaceKind::vxlan;
  const InterfaceKind kind = kind_by_convention(name);
  // "flannel.1" is no VLAN, and neither is "ib0.8001", a partition of InfiniBand.
  if (has_number_behind_point(name) && kind != InterfaceKind::vxlan &&
      kind != InterfaceKind::infiniband)
    return InterfaceKind::vlan;
  if (kind == InterfaceKind::physical && !below.empty()) return InterfaceKind::unknown;
  return kind;
}

}  // namespace lockstep::topology
