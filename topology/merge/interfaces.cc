#include "topology/merge/interfaces.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "topology/interface_kind.h"
#include "topology/merge/accounts.h"

namespace lockstep::topology::merging {
namespace {

// Readers of names alone give the kind that the name suggests: another one is the system's word.
InterfaceKind merge_kind(const Accounts<Interface>& accounts) {
  InterfaceKind by_name = InterfaceKind::unknown;
  for (const auto& account : accounts.all()) {
    const Interface& interface = *account.thing;
    if (interface.kind == InterfaceKind::unknown) continue;
    if (interface.kind != kind_of_interface_name(interface.name)) return interface.kind;
    by_name = interface.kind;
  }
  return by_name;
}

std::vector<std::string> merge_addresses(const Accounts<Interface>& accounts) {
  std::vector<std::string> merged;
  for (const auto& account : accounts.all()) {
    for (const std::string& address : account.thing->addresses) {
      if (std::ranges::find(merged, address) == merged.end()) merged.push_back(address);
    }
  }
  return merged;
}

Interface merge_interface(const Accounts<Interface>& accounts) {
  Interface interface = accounts.first();
  interface.kind = merge_kind(accounts);
  accounts.agree(interface, "whether it is up", &Interface::up);
  interface.addresses = merge_addresses(accounts);
  accounts.agree(interface, "the bond or bridge", &Interface::master);
  accounts.fill(interface, &Interface::rate_Gbps);
  accounts.agree(interface, "the PCI address", &Interface::pci);
  accounts.fill(interface, &Interface::own_arp);
  return interface;
}

// A bond, a VLAN or a tunnel has no device of its own.
bool is_device(InterfaceKind kind) {
  return kind == InterfaceKind::physical || kind == InterfaceKind::infiniband ||
         kind == InterfaceKind::unknown;
}

class Joiner {
 public:
  explicit Joiner(Machine& machine) : machine_(machine) {
    for (std::size_t i = 0; i < machine.interfaces.size(); ++i)
      by_name_.try_emplace(machine.interfaces[i].name, i);
  }

  // The reference lives until the next call.
  Interface& at(const std::string& name) {
    const auto [found, is_new] = by_name_.try_emplace(name, machine_.interfaces.size());
    if (is_new) {
      Interface& made = machine_.interfaces.emplace_back();
      made.name = name;
      made.kind = kind_of_interface_name(name);
    }
    return machine_.interfaces[found->second];
  }

  void mark(const BondMember& member) {
    at(member.bond).kind = InterfaceKind::bond;
    Interface& interface = at(member.member);
    if (interface.master.empty()) interface.master = member.bond;
  }

  void join(Nic& nic) {
    if (nic.netdev.empty()) nic.netdev = find_netdev(nic);
    if (nic.netdev.empty()) return;
    if (!by_name_.contains(nic.netdev) && kind_of_interface_name(nic.netdev) != InterfaceKind::bond)
      return;
    complete(nic, at(nic.netdev));
    if (const std::string master = at(nic.netdev).master; !master.empty()) (void)at(master);
  }

 private:
  // The only interface of that name or PCI address.
  std::string find_netdev(const Nic& nic) const {
    if (nic.name.empty() || by_name_.contains(nic.name)) return nic.name;
    if (!nic.pci.address) return "";
    const auto at_address = [&nic](const auto& other) {
      return address_of(other) == nic.pci.address;
    };
    if (std::ranges::count_if(machine_.nics, at_address) != 1 ||
        std::ranges::count_if(machine_.interfaces, at_address) != 1)
      return "";
    return std::ranges::find_if(machine_.interfaces, at_address)->name;
  }

  static std::optional<PciAddress> address_of(const Nic& nic) { return nic.pci.address; }
  static std::optional<PciAddress> address_of(const Interface& interface) {
    return is_device(interface.kind) ? interface.pci : std::nullopt;
  }

  // The state of an InfiniBand port is not that of the IP interface on it.
  static void complete(Nic& nic, Interface& interface) {
    if (nic.kind == NicKind::unknown && interface.kind == InterfaceKind::infiniband)
      nic.kind = NicKind::infiniband;
    if (nic.state == NicState::unknown && nic.kind != NicKind::infiniband && interface.up)
      nic.state = *interface.up ? NicState::active : NicState::down;
    if (!is_device(interface.kind)) return;
    if (!nic.rate_Gbps) nic.rate_Gbps = interface.rate_Gbps;
    if (!nic.pci.address) nic.pci.address = interface.pci;
    if (!interface.pci) interface.pci = nic.pci.address;
  }

  Machine& machine_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

std::vector<Interface> merge_interfaces(const Recordings& recordings,
                                        std::vector<Finding>& findings) {
  std::vector<Accounts<Interface>> all;
  std::unordered_map<std::string, std::size_t> by_name;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    for (const Interface& interface : recordings.parts[part].interfaces) {
      const auto [found, is_new] = by_name.try_emplace(interface.name, all.size());
      if (is_new) all.emplace_back(interface.name, findings);
      all[found->second].add(interface, recordings.sources[part]);
    }
  }
  std::vector<Interface> merged;
  merged.reserve(all.size());
  for (const auto& accounts : all) merged.push_back(merge_interface(accounts));
  return merged;
}

void join_interfaces(Machine& machine, std::span<const BondMember> members) {
  Joiner joiner(machine);
  for (const BondMember& member : members) joiner.mark(member);
  for (Nic& nic : machine.nics) joiner.join(nic);
}

}  // namespace lockstep::topology::merging
