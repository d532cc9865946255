#include "topology/readers/slurm_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "topology/readers/reading.h"

namespace lockstep::topology {
namespace {

using Positions = std::unordered_map<std::string_view, std::size_t>;

Positions positions_of(const std::vector<SlurmSwitch>& tree, std::string_view file) {
  Positions positions;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto [known, is_new] = positions.emplace(tree[i].name, i);
    if (is_new) continue;
    throw ReadError(file, tree[i].line,
                    fmt::format("switch {} stands a second time, first in line {}; name it once, "
                                "with all that is below it",
                                tree[i].name, tree[known->second].line));
  }
  return positions;
}

// The switches below each, by position; those that the file does not define are noted.
std::vector<std::vector<std::size_t>> children_of(const std::vector<SlurmSwitch>& tree,
                                                  const Positions& positions, Notes& notes) {
  std::vector<std::vector<std::size_t>> children(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const std::string& name : tree[i].switches) {
      if (const auto child = positions.find(name); child != positions.end()) {
        children[i].push_back(child->second);
        continue;
      }
      notes.add(
          {.severity = Severity::warning,
           .code = "undefined-switch",
           .message = fmt::format("switch {} lists {} below it, which the file does not define",
                                  tree[i].name, name),
           .where = "",
           .remedy = fmt::format("add a line SwitchName={} with its Nodes or Switches", name)},
          tree[i].line);
    }
  }
  return children;
}

// From the leaves upward; what never gets a tier lies in a ring, or above one.
std::vector<int> tiers_of(const std::vector<SlurmSwitch>& tree,
                          const std::vector<std::vector<std::size_t>>& children,
                          std::string_view file) {
  std::vector<std::vector<std::size_t>> parents(tree.size());
  std::vector<std::size_t> open(tree.size());  // children without a tier yet
  std::vector<std::size_t> next;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    open[i] = children[i].size();
    for (const std::size_t child : children[i]) parents[child].push_back(i);
    if (open[i] == 0) next.push_back(i);
  }
  // Without a host anywhere below, none.
  std::vector<int> tier(tree.size(), -1);
  std::size_t done = 0;
  for (; !next.empty(); ++done) {
    const std::size_t here = next.back();
    next.pop_back();
    if (tier[here] < 0 && !tree[here].hosts.empty()) tier[here] = 0;
    for (const std::size_t parent : parents[here]) {
      if (tier[here] >= 0) tier[parent] = std::max(tier[parent], tier[here] + 1);
      if (--open[parent] == 0) next.push_back(parent);
    }
  }
  if (done == tree.size()) return tier;
  const auto ring = std::ranges::find_if(open, [](std::size_t left) { return left > 0; });
  const SlurmSwitch& node = tree[static_cast<std::size_t>(ring - open.begin())];
  throw ReadError(file, node.line,
                  fmt::format("switch {} is above itself, or above switches that are; a tree has "
                              "no ring",
                              node.name));
}

FabricPort port_to(const std::string& peer) {
  return {.number = 0, .peer = peer, .peer_port = 0, .rate_Gbps = 0};
}

}  // namespace

Fabric fabric_of_tree(const std::vector<SlurmSwitch>& tree, std::string_view file, Notes& notes) {
  const Positions positions = positions_of(tree, file);
  const auto children = children_of(tree, positions, notes);
  const std::vector<int> tier = tiers_of(tree, children, file);
  Fabric fabric;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    fabric.switches.push_back({.guid = "", .name = tree[i].name, .tier = tier[i], .ports = {}});
    fabric.tiers = std::max(fabric.tiers, tier[i] + 1);
  }
  std::unordered_map<std::string_view, std::size_t> hosts;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    std::vector<FabricPort>& ports = fabric.switches[i].ports;
    for (const std::size_t child : children[i]) {
      ports.push_back(port_to(tree[child].name));
      fabric.switches[child].ports.push_back(port_to(tree[i].name));
    }
    for (const std::string& name : tree[i].hosts) {
      ports.push_back(port_to(name));
      const auto [host, is_new] = hosts.emplace(name, fabric.adapters.size());
      if (is_new) {
        FabricAdapter adapter;
        adapter.name = adapter.host = name;
        fabric.adapters.push_back(std::move(adapter));
      }
      fabric.adapters[host->second].ports.push_back(port_to(tree[i].name));
    }
  }
  return fabric;
}

}  // namespace lockstep::topology
