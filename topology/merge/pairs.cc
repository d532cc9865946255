#include "topology/merge/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "topology/merge/accounts.h"

namespace lockstep::topology::merging {
namespace {

using Pair = std::pair<DeviceId, DeviceId>;

Pair unordered(DeviceId a, DeviceId b) {
  return a < b ? Pair(a, b) : Pair(b, a);
}

std::string shown(Pair pair) {
  return fmt::format("{} and {}", to_string(pair.first), to_string(pair.second));
}

// "count by source".
std::string claim(const std::string& value, const std::string& source) {
  return fmt::format("{} by {}", value, source);
}

// The links of one kind that a device has come from one recording: two models of one board, or of
// one PCIe tree, would be added up.
class Links {
 public:
  Links(Machine& into, const Recordings& recordings) : into_(into), recordings_(recordings) {}

  void add(std::size_t part, Link link) {
    const Key key{link.kind, unordered(link.from, link.to)};
    if (const auto known = known_.find(key); known != known_.end()) {
      complete(into_.links[known->second.link], link, known->second.part, part);
      return;
    }
    if (!free_for(link.kind, link.from, part)) return;
    // Many devices hang off one PCIe switch or NUMA node: there it is the lower end that has one.
    const bool symmetric = link.kind != LinkKind::pcie;
    if (symmetric && !free_for(link.kind, link.to, part)) return;
    owner_.emplace(End{link.kind, link.from}, part);
    if (symmetric) owner_.emplace(End{link.kind, link.to}, part);
    known_.emplace(key, Known{into_.links.size(), part});
    into_.links.push_back(link);
  }

 private:
  using Key = std::pair<LinkKind, Pair>;
  using End = std::pair<LinkKind, DeviceId>;
  struct Known {
    std::size_t link, part;
  };

  bool free_for(LinkKind kind, DeviceId end, std::size_t part) const {
    const auto owner = owner_.find({kind, end});
    return owner == owner_.end() || owner->second == part;
  }

  void complete(Link& kept, const Link& other, std::size_t kept_part, std::size_t other_part) {
    if (!kept.GBps) kept.GBps = other.GBps;
    if (kept.count == other.count || kept_part == other_part) return;
    into_.findings.push_back(
        disagreement(fmt::format("the number of {} links", to_string(kept.kind)),
                     shown(unordered(kept.from, kept.to)),
                     claim(fmt::format("{}", kept.count), recordings_.sources[kept_part]),
                     claim(fmt::format("{}", other.count), recordings_.sources[other_part])));
  }

  Machine& into_;
  const Recordings& recordings_;
  std::map<Key, Known> known_;
  std::map<End, std::size_t> owner_;
};

bool is_nvlink(const std::string& label) {
  return label.starts_with("NV");
}

class StatedPaths {
 public:
  StatedPaths(Machine& into, const Recordings& recordings) : into_(into), recordings_(recordings) {}

  void add(std::size_t part, StatedPath path) {
    const auto [known, is_new] =
        known_.try_emplace(unordered(path.from, path.to), Known{into_.stated.size(), part});
    if (is_new) {
      into_.stated.push_back(std::move(path));
      return;
    }
    StatedPath& kept = into_.stated[known->second.path];
    if (kept.label == path.label || known->second.part == part) return;
    // `topo -mp` shows the PCIe way of a pair that has NVLinks as well.
    if (is_nvlink(kept.label) != is_nvlink(path.label)) {
      if (is_nvlink(path.label)) kept.label = path.label;
      return;
    }
    into_.findings.push_back(disagreement(
        "the path", shown(known->first), claim(kept.label, recordings_.sources[known->second.part]),
        claim(path.label, recordings_.sources[part])));
  }

 private:
  struct Known {
    std::size_t path, part;
  };

  Machine& into_;
  const Recordings& recordings_;
  std::map<Pair, Known> known_;
};

bool names(const StatedPath& path, DeviceId id) {
  return path.from == id || path.to == id;
}

void join_links(Machine& machine, DeviceId first, DeviceId later) {
  const auto uplink_of = [&machine](DeviceId id) {
    return std::ranges::find_if(machine.links, [id](const Link& link) {
      return link.kind == LinkKind::pcie && link.from == id;
    });
  };
  const auto uplink = uplink_of(first);
  if (uplink == machine.links.end() || uplink_of(later) != machine.links.end()) return;
  Link link = *uplink;
  link.from = later;
  machine.links.push_back(link);
}

void join_stated(Machine& machine, DeviceId first, DeviceId later) {
  const auto names_later = [later](const StatedPath& path) { return names(path, later); };
  if (std::ranges::any_of(machine.stated, names_later)) return;
  std::vector<StatedPath> added;
  for (const StatedPath& path : machine.stated) {
    if (!names(path, first)) continue;
    StatedPath copy = path;
    (copy.from == first ? copy.from : copy.to) = later;
    added.push_back(std::move(copy));
  }
  if (!added.empty()) added.push_back({.from = first, .to = later, .label = "PIX"});
  machine.stated.insert(machine.stated.end(), added.begin(), added.end());
}

}  // namespace

void merge_pairs(Machine& into, const Recordings& recordings, const Groupings& groupings) {
  Links links(into, recordings);
  StatedPaths stated(into, recordings);
  std::set<std::tuple<DeviceId, DeviceId, char>> peers;
  for (std::size_t part = 0; part < recordings.parts.size(); ++part) {
    // `pair` in the ids of the merged machine.
    const auto placed = [&](auto pair, auto take) {
      const auto from = groupings.place_of(part, pair.from);
      const auto to = groupings.place_of(part, pair.to);
      if (!from || !to) return;
      pair.from = *from;
      pair.to = *to;
      take(std::move(pair));
    };
    const Machine& machine = recordings.parts[part];
    for (const Link& link : machine.links)
      placed(link, [&](Link moved) { links.add(part, moved); });
    for (const StatedPath& path : machine.stated)
      placed(path, [&](StatedPath moved) { stated.add(part, std::move(moved)); });
    for (const PeerStatus& peer : machine.peers) {
      placed(peer, [&](PeerStatus moved) {
        if (peers.insert({moved.from, moved.to, moved.capability}).second)
          into.peers.push_back(std::move(moved));
      });
    }
  }
}

void join_ports(Machine& machine) {
  std::map<std::string, std::size_t> first_of;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    Nic& later = machine.nics[i];
    if (later.name.empty()) continue;
    const auto [first, is_new] = first_of.try_emplace(later.name, i);
    if (is_new) continue;
    const Nic& sibling = machine.nics[first->second];
    if (sibling.pci.address && later.pci.address && sibling.pci.address != later.pci.address)
      continue;
    if (!later.pci.address) later.pci = sibling.pci;
    if (!later.numa) later.numa = sibling.numa;
    const DeviceId first_id{DeviceKind::nic, static_cast<int>(first->second)};
    const DeviceId later_id{DeviceKind::nic, static_cast<int>(i)};
    join_links(machine, first_id, later_id);
    join_stated(machine, first_id, later_id);
  }
}

}  // namespace lockstep::topology::merging
