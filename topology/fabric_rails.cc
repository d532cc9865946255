#include "topology/fabric_rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "topology/adapter_name.h"

namespace lockstep::topology {
namespace {

// What tells the adapters of a host apart, in the order in which people count: mlx5_2 before
// mlx5_10.
struct RailKey {
  std::size_t length;
  std::string device;  // one name a device; empty: an unnamed adapter of several ports
  int port;

  auto operator<=>(const RailKey&) const = default;
};

using Span = std::pair<std::size_t, std::size_t>;  // begin and end in the attachments

struct Members {
  std::vector<int> leaves, adapters;
};

std::optional<RailKey> key_of(const FabricAdapter& adapter, int port) {
  if (adapter.device.empty() && adapter.ports.size() < 2) return std::nullopt;
  const std::string device = same_device_name(adapter.device);
  return RailKey{device.size(), device, port};
}

// The name that most of the adapters have: of a rail of HCA-4 and mlx5_3 whichever is the more.
std::string usual_device(const Fabric& fabric, const std::vector<int>& adapters) {
  std::map<std::string, int> count;
  for (const int adapter : adapters)
    ++count[fabric.adapters[static_cast<std::size_t>(adapter)].device];
  const auto most = std::ranges::max_element(count, {}, &std::pair<const std::string, int>::second);
  return most == count.end() ? std::string() : most->first;
}

Rail rail_of(const Fabric& fabric, Members members) {
  std::ranges::sort(members.adapters);
  // clang 14 cannot compile std::ranges::unique of g++ 12.
  members.adapters.erase(std::unique(members.adapters.begin(), members.adapters.end()),
                         members.adapters.end());
  Rail rail{.device = usual_device(fabric, members.adapters), .switches = {}, .adapters = {}};
  for (const int leaf : members.leaves)
    rail.switches.push_back(id_of(fabric.switches[static_cast<std::size_t>(leaf)]));
  for (const int adapter : members.adapters)
    rail.adapters.push_back(id_of(fabric.adapters[static_cast<std::size_t>(adapter)]));
  return rail;
}

// The attachments of each leaf, which lie side by side.
std::vector<Span> leaves_of(const std::vector<Attachment>& attachments) {
  std::vector<Span> leaves;
  for (std::size_t i = 0; i < attachments.size(); ++i) {
    if (i == 0 || attachments[i].leaf != attachments[i - 1].leaf) leaves.emplace_back(i, i);
    leaves.back().second = i + 1;
  }
  return leaves;
}

std::vector<Rail> rails_by_device(const Fabric& fabric,
                                  const std::vector<Attachment>& attachments) {
  std::map<RailKey, Members> rails;
  for (const auto& [begin, end] : leaves_of(attachments)) {
    std::map<RailKey, std::vector<int>> here;
    std::size_t known = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const int adapter = attachments[i].adapter;
      const auto key =
          key_of(fabric.adapters[static_cast<std::size_t>(adapter)], attachments[i].port);
      if (!key) continue;
      here[*key].push_back(adapter);
      ++known;
    }
    for (const auto& [key, adapters] : here) {
      if (2 * adapters.size() <= known) continue;
      Members& rail = rails[key];
      rail.leaves.push_back(attachments[begin].leaf);
      rail.adapters.insert(rail.adapters.end(), adapters.begin(), adapters.end());
    }
  }
  std::vector<Rail> found;
  for (auto& [key, members] : rails) found.push_back(rail_of(fabric, std::move(members)));
  return found;
}

std::vector<Rail> rails_by_leaf_sets(const Fabric& fabric,
                                     const std::vector<Attachment>& attachments) {
  std::map<std::string, std::vector<int>> leaves_of_host;
  for (const Attachment& attachment : attachments) {
    const FabricAdapter& adapter = fabric.adapters[static_cast<std::size_t>(attachment.adapter)];
    if (!adapter.host.empty()) leaves_of_host[adapter.host].push_back(attachment.leaf);
  }
  std::map<std::vector<int>, std::vector<std::string>> hosts_of_set;
  for (auto& [host, leaves] : leaves_of_host) {
    const bool apart = std::ranges::adjacent_find(leaves) == leaves.end();  // sorted, as given
    if (apart && leaves.size() > 1) hosts_of_set[leaves].push_back(host);
  }
  // A leaf of two sets is no rail: its hosts' other adapters do not meet.
  std::map<int, int> sets_of_leaf;
  for (const auto& [leaves, hosts] : hosts_of_set)
    for (const int leaf : leaves) ++sets_of_leaf[leaf];

  std::map<int, Members> rails;
  for (const auto& [leaves, hosts] : hosts_of_set) {
    const bool alone =
        std::ranges::all_of(leaves, [&](int leaf) { return sets_of_leaf[leaf] == 1; });
    if (!alone || hosts.size() < 2) continue;
    for (const int leaf : leaves) rails[leaf].leaves = {leaf};
  }
  for (const Attachment& attachment : attachments) {
    const auto rail = rails.find(attachment.leaf);
    if (rail != rails.end()) rail->second.adapters.push_back(attachment.adapter);
  }
  std::vector<Rail> found;
  for (auto& [leaf, members] : rails) found.push_back(rail_of(fabric, std::move(members)));
  return found;
}

}  // namespace

std::vector<Rail> rails_of(const Fabric& fabric, const std::vector<Attachment>& attachments) {
  std::vector<Rail> rails = rails_by_device(fabric, attachments);
  const bool named = std::ranges::any_of(attachments, [&](const Attachment& attachment) {
    return !fabric.adapters[static_cast<std::size_t>(attachment.adapter)].device.empty();
  });
  if (rails.empty() && !named) rails = rails_by_leaf_sets(fabric, attachments);
  return rails;
}

}  // namespace lockstep::topology
