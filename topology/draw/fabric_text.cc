#include "topology/draw/fabric_text.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "topology/draw/labels.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostNames = 8;  // of a rail's switches or a block's hosts

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", plain(names[i]));
  if (names.size() > kMostNames) text += fmt::format(", and {} more", names.size() - kMostNames);
  return text;
}

}  // namespace

std::string draw_fabric(const Fabric& fabric) {
  std::set<std::string> hosts;
  for (const FabricAdapter& adapter : fabric.adapters) {
    if (!adapter.host.empty()) hosts.insert(adapter.host);
  }
  std::string text = fmt::format(
      "fabric: {} switches in {} tier{}, {} adapters of {} named hosts\n", fabric.switches.size(),
      fabric.tiers, fabric.tiers == 1 ? "" : "s", fabric.adapters.size(), hosts.size());
  std::map<int, int> of_tier;
  std::map<std::string, std::string> name_of;
  for (const FabricSwitch& device : fabric.switches) {
    ++of_tier[device.tier];
    name_of[id_of(device)] = device.name.empty() ? device.guid : device.name;
  }
  for (const auto& [tier, count] : of_tier) {
    text += tier < 0 ? fmt::format("  no adapter below: {} switches\n", count)
                     : fmt::format("  tier {}: {} switches\n", tier, count);
  }
  for (std::size_t i = 0; i < fabric.rails.size(); ++i) {
    const Rail& rail = fabric.rails[i];
    std::vector<std::string> names;
    for (const std::string& id : rail.switches)
      names.push_back(name_of.contains(id) ? name_of[id] : id);
    text += fmt::format("  rail {}{}: {} adapters on {}\n", i,
                        rail.device.empty() ? "" : fmt::format(" ({})", plain(rail.device)),
                        rail.adapters.size(), some_of(names));
  }
  for (std::size_t i = 0; i < fabric.blocks.size(); ++i) {
    text += fmt::format("  block {}: {} hosts: {}\n", i, fabric.blocks[i].size(),
                        some_of(fabric.blocks[i]));
  }
  return text;
}

}  // namespace lockstep::topology
