#include "topology/fabric_shape.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string_view>
#include <unordered_map>

#include "topology/fabric_rails.h"

namespace lockstep::topology {
namespace {

using Positions = std::unordered_map<std::string_view, int>;

template <typename Node>
Positions positions_of(const std::vector<Node>& nodes) {
  Positions positions;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    positions.emplace(id_of(nodes[i]), static_cast<int>(i));
  return positions;
}

struct Links {
  std::vector<std::vector<int>> neighbours;  // of each switch; a pair may stand several times
  std::vector<Attachment> attachments;       // sorted, each once
};

Links links_of(const Fabric& fabric) {
  const Positions switches = positions_of(fabric.switches);
  const Positions adapters = positions_of(fabric.adapters);
  Links links;
  links.neighbours.resize(fabric.switches.size());
  const auto attach = [&](int leaf, int adapter, int port) {
    if (fabric.adapters[static_cast<std::size_t>(adapter)].kind == AdapterKind::host)
      links.attachments.push_back({leaf, adapter, port});
  };
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
    const int here = static_cast<int>(i);
    for (const FabricPort& port : fabric.switches[i].ports) {
      if (const auto other = switches.find(port.peer); other != switches.end()) {
        links.neighbours[i].push_back(other->second);
        links.neighbours[static_cast<std::size_t>(other->second)].push_back(here);
      } else if (const auto adapter = adapters.find(port.peer); adapter != adapters.end()) {
        attach(here, adapter->second, port.peer_port);
      }
    }
  }
  for (std::size_t i = 0; i < fabric.adapters.size(); ++i) {
    for (const FabricPort& port : fabric.adapters[i].ports) {
      if (const auto leaf = switches.find(port.peer); leaf != switches.end())
        attach(leaf->second, static_cast<int>(i), port.number);
    }
  }
  std::ranges::sort(links.attachments);
  // clang 14 cannot compile std::ranges::unique of g++ 12.
  links.attachments.erase(std::unique(links.attachments.begin(), links.attachments.end()),
                          links.attachments.end());
  return links;
}

// Breadth first from all leaves at once.
std::vector<int> tiers_of(const Links& links) {
  std::vector<int> tier(links.neighbours.size(), -1);
  std::deque<int> next;
  for (const Attachment& attachment : links.attachments) {
    int& leaf = tier[static_cast<std::size_t>(attachment.leaf)];
    if (leaf == 0) continue;
    leaf = 0;
    next.push_back(attachment.leaf);
  }
  while (!next.empty()) {
    const auto here = static_cast<std::size_t>(next.front());
    next.pop_front();
    for (const int other : links.neighbours[here]) {
      int& above = tier[static_cast<std::size_t>(other)];
      if (above >= 0) continue;
      above = tier[here] + 1;
      next.push_back(other);
    }
  }
  return tier;
}

}  // namespace

FabricShape shape_of(const Fabric& fabric) {
  const Links links = links_of(fabric);
  FabricShape shape;
  shape.tier = tiers_of(links);
  for (const int tier : shape.tier) shape.tiers = std::max(shape.tiers, tier + 1);
  shape.rails = rails_of(fabric, links.attachments);
  return shape;
}

}  // namespace lockstep::topology
