#include "topology/merge/nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "topology/interface_kind.h"
#include "topology/merge/accounts.h"
#include "topology/merge/devices.h"

namespace lockstep::topology::merging {
namespace {

using Account = Accounts<Nic>::Account;

bool is_rdma(NicKind kind) {
  return kind == NicKind::infiniband || kind == NicKind::roce || kind == NicKind::efa;
}

// Whether `account` calls the adapter by the name of its interface.
bool names_interface(const Account& account, const Accounts<Nic>& accounts) {
  const Nic& nic = *account.thing;
  return std::ranges::any_of(accounts.all(), [&nic](const Account& other) {
    if (other.thing->name.empty() || other.thing->name == nic.name) return false;
    return other.thing->netdev == nic.name ||
           (is_rdma(other.thing->kind) && nic.kind == NicKind::ethernet);
  });
}

// The RDMA device's name; that of the interface is a netdev.
void merge_name(Nic& into, const Accounts<Nic>& accounts) {
  for (const Account& account : accounts.all()) {
    std::string& kept = names_interface(account, accounts) ? into.netdev : into.name;
    if (kept.empty()) kept = account.thing->name;
  }
}

// How much a kind says: an adapter that one recording knows as Ethernet can be RoCE by another.
int precision(NicKind kind) {
  switch (kind) {
    case NicKind::unknown:
      return 0;
    case NicKind::other:
      return 1;
    case NicKind::ethernet:
      return 2;
    case NicKind::roce:
    case NicKind::efa:
    case NicKind::infiniband:
      return 3;
  }
  return 0;
}

bool exclude_each_other(NicKind a, NicKind b) {
  const auto is_ethernet = [](NicKind kind) {
    return kind == NicKind::roce || kind == NicKind::ethernet;
  };
  return (a == NicKind::infiniband && is_ethernet(b)) ||
         (b == NicKind::infiniband && is_ethernet(a));
}

void merge_kind(Nic& into, const Accounts<Nic>& accounts) {
  std::string_view source;
  for (const Account& account : accounts.all()) {
    const NicKind kind = account.thing->kind;
    if (exclude_each_other(into.kind, kind)) {
      accounts.note("the link layer", {shown(into.kind), source}, {shown(kind), account.source});
    } else if (precision(kind) > precision(into.kind)) {
      into.kind = kind;
      source = account.source;
    }
  }
}

// The rate that tools print of a port that is down is only a default.
void merge_state(Nic& into, const Accounts<Nic>& accounts) {
  accounts.agree(into, "the state", &Nic::state);
  accounts.fill(into, &Nic::physical_state);
  if (into.state == NicState::down) {
    accounts.fill(into, &Nic::rate_Gbps);
  } else {
    accounts.agree(into, "the rate in Gb/s", &Nic::rate_Gbps);
  }
}

class BondNames {
 public:
  explicit BondNames(std::span<const Machine> parts) : parts_(parts) {}

  [[nodiscard]] bool contains(const std::string& name) const {
    const auto states_it = [&name](const Machine& part) {
      return std::ranges::any_of(part.interfaces, [&name](const Interface& interface) {
        return interface.name == name && interface.kind == InterfaceKind::bond;
      });
    };
    return kind_of_interface_name(name) == InterfaceKind::bond ||
           std::ranges::any_of(parts_, states_it);
  }

 private:
  std::span<const Machine> parts_;
};

// Where one recording names a bond and another a member of it, both are right.
void merge_netdev(Nic& into, const Accounts<Nic>& accounts, const BondNames& bonds,
                  std::vector<BondMember>& members) {
  std::string_view source;
  for (const Account& account : accounts.all()) {
    const std::string& netdev = account.thing->netdev;
    if (netdev.empty() || netdev == into.netdev) continue;
    if (into.netdev.empty()) {
      into.netdev = netdev;
      source = account.source;
    } else if (bonds.contains(netdev) && !bonds.contains(into.netdev)) {
      members.push_back({.member = into.netdev, .bond = netdev});
      into.netdev = netdev;
      source = account.source;
    } else if (bonds.contains(into.netdev) && !bonds.contains(netdev)) {
      members.push_back({.member = netdev, .bond = into.netdev});
    } else {
      accounts.note("the network interface", {into.netdev, source}, {netdev, account.source});
    }
  }
}

// Entries by index; of one that several recordings have, each adds what the others do not say.
std::vector<Gid> merge_gids(const Accounts<Nic>& accounts) {
  std::map<int, std::pair<Gid, std::string_view>> by_index;
  for (const Account& account : accounts.all()) {
    for (const Gid& gid : account.thing->gids) {
      const auto [entry, is_new] = by_index.try_emplace(gid.index, gid, account.source);
      if (is_new) continue;
      auto& [known, source] = entry->second;
      if (known.address == gid.address) {
        if (known.type.empty()) known.type = gid.type;
        if (known.netdev.empty()) known.netdev = gid.netdev;
      } else if (source != account.source) {
        accounts.note(fmt::format("GID {}", gid.index), {known.address, source},
                      {gid.address, account.source});
      }
    }
  }
  std::vector<Gid> merged;
  merged.reserve(by_index.size());
  for (auto& [index, entry] : by_index) merged.push_back(std::move(entry.first));
  return merged;
}

// GUIDs are filled, not compared: of one device, tools print the node's, the port's or the board's.
Nic merge_nic(const Accounts<Nic>& accounts, const BondNames& bonds,
              std::vector<BondMember>& members) {
  Nic nic = accounts.first();
  nic.name.clear();
  nic.netdev.clear();
  nic.kind = NicKind::unknown;
  merge_name(nic, accounts);
  merge_kind(nic, accounts);
  merge_state(nic, accounts);
  merge_netdev(nic, accounts, bonds, members);
  nic.pci = merge_pci(accounts.of(&Nic::pci));
  accounts.agree(nic, "the NUMA node", &Nic::numa);
  accounts.fill(nic, &Nic::port);
  accounts.fill(nic, &Nic::guid);
  accounts.fill(nic, &Nic::board);
  accounts.fill(nic, &Nic::gpudirect);
  nic.virtual_function = std::ranges::any_of(
      accounts.all(), [](const Account& account) { return account.thing->virtual_function; });
  nic.gids = merge_gids(accounts);
  return nic;
}

std::string name_for_findings(const Recordings& recordings, std::span<const Member> group,
                              std::size_t position) {
  for (const Member member : group) {
    const Nic& nic = recordings.parts[member.part].nics[member.index];
    if (!nic.name.empty()) return nic.name;
  }
  return fmt::format("NIC{}", position);
}

}  // namespace

MergedNics merge_nics(const Recordings& recordings, const Grouping& grouping,
                      std::vector<Finding>& findings) {
  MergedNics merged;
  const BondNames bonds(recordings.parts);
  for (const auto& group : grouping.groups) {
    const auto accounts =
        accounts_of(recordings, group, &Machine::nics,
                    name_for_findings(recordings, group, merged.nics.size()), findings);
    merged.nics.push_back(merge_nic(accounts, bonds, merged.members));
  }
  return merged;
}

}  // namespace lockstep::topology::merging
