#include "topology/bond.h"

#include <algorithm>
#include <string_view>

namespace lockstep::topology {
namespace {

const Interface* interface_named(const Machine& machine, std::string_view name) {
  const auto found = std::ranges::find(machine.interfaces, name, &Interface::name);
  return found == machine.interfaces.end() ? nullptr : &*found;
}

}  // namespace

std::string bond_of(const Machine& machine, const Nic& nic) {
  if (nic.netdev.starts_with("bond")) return nic.netdev;
  const Interface* interface = interface_named(machine, nic.netdev);
  if (interface != nullptr) {
    if (interface->kind == InterfaceKind::bond) return nic.netdev;
    const Interface* master = interface_named(machine, interface->master);
    if (master != nullptr &&
        (master->kind == InterfaceKind::bond || master->name.starts_with("bond")))
      return master->name;
  }
  return nic.name.find("bond") == std::string::npos ? std::string() : nic.name;
}

}  // namespace lockstep::topology
