#include "topology/advice/rail_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostNames = 8;

// Which nodes of the fabric a packet can come to from each other.
class Parts {
 public:
  void join(std::string_view a, std::string_view b) { parent_[of(a)] = of(b); }

  // The part that the node lies in.
  std::size_t of(std::string_view node) {
    const auto [known, is_new] = number_.try_emplace(node, parent_.size());
    if (is_new) parent_.push_back(parent_.size());
    std::size_t at = known->second;
    for (; parent_[at] != at; at = parent_[at]) parent_[at] = parent_[parent_[at]];
    return at;
  }

 private:
  std::unordered_map<std::string_view, std::size_t> number_;
  std::vector<std::size_t> parent_;
};

// A host's adapter passes nothing on from one of its ports to another.
Parts parts_of(const Fabric& fabric) {
  std::unordered_set<std::string_view> ends;
  for (const FabricAdapter& adapter : fabric.adapters) {
    if (adapter.kind != AdapterKind::router) ends.insert(id_of(adapter));
  }
  Parts parts;
  const auto join_ports = [&](const auto& node) {
    for (const FabricPort& port : node.ports) {
      if (!port.peer.empty() && !ends.contains(port.peer)) parts.join(id_of(node), port.peer);
    }
  };
  for (const FabricSwitch& one : fabric.switches) join_ports(one);
  for (const FabricAdapter& adapter : fabric.adapters) {
    if (adapter.kind == AdapterKind::router) join_ports(adapter);
  }
  return parts;
}

std::string names_of(const std::vector<Rail>& rails) {
  std::vector<std::string_view> names;
  for (const Rail& rail : rails) {
    if (rail.device.empty() || names.size() == kMostNames) return {};
    names.push_back(rail.device);
  }
  return fmt::format(" ({})", fmt::join(names, ", "));
}

}  // namespace

RailFacts rail_facts(const Fabric& fabric, const Machine& host, std::string_view source) {
  const auto has = [&host](NicKind kind) {
    return std::ranges::count(host.nics, kind, &Nic::kind);
  };
  if (fabric.rails.size() < 2 || (has(NicKind::infiniband) == 0 && has(NicKind::roce) > 0))
    return {};
  Parts parts = parts_of(fabric);
  std::set<std::size_t> taken;  // by the rails before
  std::size_t leaves = 0;
  bool apart = true;
  for (const Rail& rail : fabric.rails) {
    std::set<std::size_t> own;
    for (const std::string& leaf : rail.switches) own.insert(parts.of(leaf));
    leaves += rail.switches.size();
    for (const std::size_t part : own) apart = taken.insert(part).second && apart;
  }
  return {apart ? RailConnection::isolated : RailConnection::connected,
          fmt::format("{}: {} rails{} on {} leaf switches, and {}", source, fabric.rails.size(),
                      names_of(fabric.rails), leaves,
                      apart ? "no link joins one to another" : "links join them")};
}

}  // namespace lockstep::topology
