#include "topology/fabric_join.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topology/fabric_shape.h"

namespace lockstep::topology {
namespace {

template <typename Node>
void join_nodes(std::vector<Node>& into, std::vector<Node> more) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].guid, i);
  for (Node& node : more) {
    const auto found = known.find(node.guid);
    if (found == known.end()) {
      into.push_back(std::move(node));
      continue;
    }
    std::vector<FabricPort>& ports = into[found->second].ports;
    for (FabricPort& port : node.ports) {
      if (std::ranges::count(ports, port.number, &FabricPort::number) == 0)
        ports.push_back(std::move(port));
    }
    std::ranges::sort(ports, {}, &FabricPort::number);
  }
}

}  // namespace

bool has_guids(const Fabric& fabric) {
  return !fabric.switches.empty() &&
         std::ranges::none_of(fabric.switches, &std::string::empty, &FabricSwitch::guid);
}

Fabric joined(Fabric fabric, Fabric more) {
  join_nodes(fabric.switches, std::move(more.switches));
  join_nodes(fabric.adapters, std::move(more.adapters));
  FabricShape shape = shape_of(fabric);
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) fabric.switches[i].tier = shape.tier[i];
  fabric.tiers = shape.tiers;
  fabric.rails = std::move(shape.rails);
  return fabric;
}

}  // namespace lockstep::topology
