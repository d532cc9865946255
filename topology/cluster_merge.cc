#include "topology/cluster_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "topology/cluster_aspects.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMaxHosts = 8;   // that a finding names
constexpr std::size_t kMaxValues = 4;  // that it says

struct Group {
  std::string value;
  std::vector<int> hosts;
};

std::string name_of_host(std::span<const Machine> hosts, int position) {
  const std::string& name = hosts[static_cast<std::size_t>(position)].name;
  return name.empty() ? fmt::format("host {}", position) : name;
}

// "a, b, c", "a, b and 7 more".
std::string names_of_hosts(std::span<const Machine> hosts, const std::vector<int>& positions) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxHosts, positions.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", name_of_host(hosts, positions[i]));
  if (positions.size() > kMaxHosts)
    text += fmt::format(" and {} more", positions.size() - kMaxHosts);
  return text;
}

// By falling number of hosts; of as many, in the order of their first.
std::vector<Group> groups_of(std::span<const Machine> hosts, std::span<const int> positions,
                             const Aspect& aspect, std::vector<int>& silent) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (const int position : positions) {
    std::string value = aspect.value(hosts[static_cast<std::size_t>(position)]);
    if (value.empty()) {
      silent.push_back(position);
      continue;
    }
    const auto [group, is_new] = known.emplace(value, groups.size());
    if (is_new) groups.push_back({std::move(value), {}});
    groups[group->second].hosts.push_back(position);
  }
  std::ranges::stable_sort(groups, std::ranges::greater{},
                           [](const Group& group) { return group.hosts.size(); });
  return groups;
}

// "NCCL versions differ: 2.28.9 on 998 hosts; 2.27.3 on 2 (node07, node19)".
std::string message_of(std::span<const Machine> hosts, std::string_view what,
                       const std::vector<Group>& groups) {
  std::string text = fmt::format("{} differ", what);
  for (std::size_t i = 0; i < std::min(kMaxValues, groups.size()); ++i) {
    const std::size_t count = groups[i].hosts.size();
    text += fmt::format("{}{} on {} {}", i == 0 ? ": " : "; ", groups[i].value, count,
                        count == 1 ? "host" : "hosts");
    // The usual value's hosts are named where they are no more usual than the others.
    if (i > 0 || count == groups[1].hosts.size())
      text += fmt::format(" ({})", names_of_hosts(hosts, groups[i].hosts));
  }
  if (groups.size() > kMaxValues)
    text += fmt::format("; and {} other values", groups.size() - kMaxValues);
  return text;
}

std::optional<Finding> same_names(std::span<const Machine> hosts) {
  std::unordered_map<std::string_view, int> count;
  std::vector<std::string_view> twice;  // in the order of hosts
  for (const Machine& host : hosts) {
    if (!host.name.empty() && ++count[host.name] == 2) twice.push_back(host.name);
  }
  if (twice.empty()) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxHosts, twice.size()); ++i)
    text += fmt::format("{}{} ({} times)", i == 0 ? "" : ", ", twice[i], count[twice[i]]);
  if (twice.size() > kMaxHosts) text += fmt::format(" and {} more", twice.size() - kMaxHosts);
  return Finding{
      .severity = Severity::error,
      .code = "repeated-host-name",
      .message = fmt::format("hosts have the same name: {}", text),
      .where = std::string(twice.front()),
      .remedy = "give each host a name of its own, or name it once in the list of hosts"};
}

}  // namespace

Comparison compare(std::span<const Machine> hosts, std::span<const int> positions,
                   const Aspect& aspect) {
  Comparison result;
  std::vector<Group> groups = groups_of(hosts, positions, aspect, result.alike);
  if (groups.size() > 1) {
    std::vector<int> odd;
    for (std::size_t i = 1; i < groups.size(); ++i)
      odd.insert(odd.end(), groups[i].hosts.begin(), groups[i].hosts.end());
    result.finding = Finding{.severity = aspect.severity,
                             .code = std::string(aspect.code),
                             .message = message_of(hosts, aspect.what, groups),
                             .where = names_of_hosts(hosts, odd),
                             .remedy = std::string(aspect.remedy)};
  }
  if (!groups.empty()) {
    const auto middle = static_cast<std::ptrdiff_t>(result.alike.size());
    result.alike.insert(result.alike.end(), groups[0].hosts.begin(), groups[0].hosts.end());
    std::inplace_merge(result.alike.begin(), result.alike.begin() + middle, result.alike.end());
  }
  return result;
}

std::vector<Finding> differences(std::span<const Machine> hosts) {
  std::vector<Finding> findings;
  if (auto finding = same_names(hosts)) findings.push_back(std::move(*finding));
  std::vector<int> all(hosts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto compare_in_turn = [&](const auto& aspects) {
    std::vector<int> alike = all;
    for (const Aspect& aspect : aspects) {
      Comparison result = compare(hosts, alike, aspect);
      if (result.finding) findings.push_back(std::move(*result.finding));
      alike = std::move(result.alike);
    }
  };
  compare_in_turn(gpu_aspects());
  compare_in_turn(nic_aspects());
  for (const Aspect& aspect : version_aspects()) {
    if (auto finding = compare(hosts, all, aspect).finding) findings.push_back(std::move(*finding));
  }
  return findings;
}

Cluster merge_hosts(std::vector<Machine> hosts, std::optional<Fabric> fabric) {
  Cluster cluster;
  cluster.hosts = std::move(hosts);
  cluster.fabric = std::move(fabric);
  cluster.findings = differences(cluster.hosts);
  return cluster;
}

}  // namespace lockstep::topology
