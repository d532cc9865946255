#include "topology/findings/judge.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "topology/findings/rules.h"

namespace lockstep::topology {

std::vector<Finding> judge(const Machine& machine, const PathTable& paths) {
  using namespace findings;
  using Rule = std::vector<Finding> (*)(const Machine&);
  constexpr std::array<Rule, 17> kRules{
      lost_nvlinks, inactive_nvlinks,    missing_nvlinks, dead_bridges,    refused_peers,
      pcie_links,   switch_uplinks,      access_control,  cpu_masks,       processors,
      nic_states,   duplicate_addresses, shared_subnets,  missing_drivers, limits,
      iommu,        provider_files};
  std::vector<Finding> found;
  const auto add = [&found, &machine](std::vector<Finding> more) {
    std::ranges::copy_if(more, std::back_inserter(found), [&machine](const Finding& finding) {
      return std::ranges::none_of(machine.findings, [&finding](const Finding& known) {
        return known.code == finding.code && known.where == finding.where;
      });
    });
  };
  for (const Rule rule : kRules) add(rule(machine));
  add(gpu_nic_distance(machine, paths));
  std::ranges::stable_sort(found, {}, &Finding::severity);
  return found;
}

}  // namespace lockstep::topology
