#include "topology/draw/fabric_text.h"

#include <fmt/format.h>

#include <algorithm>
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

// "3 switches in 2 tiers, 16 adapters of 2 named hosts", "8 blocks of 32 hosts"; only what there
// is.
std::string size_in_words(const Fabric& fabric) {
  std::set<std::string> hosts;
  for (const FabricAdapter& adapter : fabric.adapters) {
    if (!adapter.host.empty()) hosts.insert(adapter.host);
  }
  std::string text;
  const auto add = [&text](const std::string& more) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", more);
  };
  if (!fabric.switches.empty()) {
    add(fmt::format("{} in {}", counted(fabric.switches.size(), "switch", "es"),
                    counted(static_cast<std::size_t>(std::max(fabric.tiers, 0)), "tier")));
  }
  if (!fabric.adapters.empty()) {
    add(counted(fabric.adapters.size(), "adapter"));
    if (!hosts.empty()) text += fmt::format(" of {}", counted(hosts.size(), "named host"));
  }
  if (!fabric.blocks.empty()) {
    std::size_t all = 0;
    for (const auto& block : fabric.blocks) all += block.size();
    add(fmt::format("{} of {}", counted(fabric.blocks.size(), "block"), counted(all, "host")));
  }
  return text.empty() ? "nothing in it" : text;
}

}  // namespace

std::string draw_fabric(const Fabric& fabric) {
  std::string text = "fabric: " + size_in_words(fabric) + "\n";
  std::map<int, std::size_t> of_tier;
  std::map<std::string, std::string> name_of;
  for (const FabricSwitch& device : fabric.switches) {
    ++of_tier[device.tier];
    name_of[id_of(device)] = device.name.empty() ? device.guid : device.name;
  }
  for (const auto& [tier, count] : of_tier) {
    text += fmt::format("  {}: {}\n",
                        tier < 0 ? std::string("no adapter below") : fmt::format("tier {}", tier),
                        counted(count, "switch", "es"));
  }
  for (std::size_t i = 0; i < fabric.rails.size(); ++i) {
    const Rail& rail = fabric.rails[i];
    std::vector<std::string> names;
    for (const std::string& id : rail.switches)
      names.push_back(name_of.contains(id) ? name_of[id] : id);
    text += fmt::format("  rail {}{}: {} on {}\n", i,
                        rail.device.empty() ? "" : fmt::format(" ({})", plain(rail.device)),
                        counted(rail.adapters.size(), "adapter"), some_of(names));
  }
  for (std::size_t i = 0; i < fabric.blocks.size(); ++i) {
    text += fmt::format("  block {}: {}: {}\n", i, counted(fabric.blocks[i].size(), "host"),
                        some_of(fabric.blocks[i]));
  }
  return text;
}

}  // namespace lockstep::topology
