#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

constexpr std::string_view kRemedy =
    "Compare with /sys/devices/system/node/node*/cpulist and correct the file or the guest's "
    "definition; until then NCCL_IGNORE_CPU_AFFINITY=1 keeps NCCL from following it.";

std::string nodes_text(const std::vector<int>& ids) {
  std::vector<std::string> names;
  for (const int id : ids) names.push_back(fmt::format("{}", id));
  return list_of(names);
}

Finding warning(std::string code, std::string message, int node) {
  return {.severity = Severity::warning,
          .code = std::move(code),
          .message = std::move(message),
          .where = fmt::format("NUMA{}", node),
          .remedy = std::string(kRemedy)};
}

void add_shared(const Machine& machine, std::vector<Finding>& found) {
  std::map<std::string, std::vector<int>> nodes;  // by their CPUs
  std::map<int, std::vector<int>> owners;         // of each CPU
  for (const NumaNode& node : machine.numa) {
    if (node.cpus.empty()) continue;
    nodes[node.cpus.to_list()].push_back(node.id);
    for (const int cpu : node.cpus.cpus()) owners[cpu].push_back(node.id);
  }
  for (const auto& [cpus, ids] : nodes) {
    if (ids.size() < 2) continue;
    found.push_back(warning("identical-cpu-masks",
                            fmt::format("NUMA nodes {} have identical CPU masks ({}): a CPU "
                                        "belongs to one node only.",
                                        nodes_text(ids), cpus),
                            ids.front()));
  }
  if (!found.empty()) return;
  const auto shared =
      std::ranges::find_if(owners, [](const auto& owner) { return owner.second.size() > 1; });
  if (shared != owners.end()) {
    found.push_back(warning("overlapping-cpu-masks",
                            fmt::format("NUMA nodes {} both claim CPU {}: a CPU belongs to one "
                                        "node only.",
                                        nodes_text(shared->second), shared->first),
                            shared->second.front()));
  }
}

// A node of memory only has no CPUs; one with a few among large ones has a mask that was cut.
void add_short(const Machine& machine, std::vector<Finding>& found) {
  int largest = 0;
  for (const NumaNode& node : machine.numa) largest = std::max(largest, node.cpus.count());
  for (const NumaNode& node : machine.numa) {
    const int count = node.cpus.count();
    if (count == 0 || 2 * count >= largest) continue;
    found.push_back(warning("short-cpu-mask",
                            fmt::format("NUMA node {} has {} CPUs ({}), another one has {}.",
                                        node.id, count, node.cpus.to_list(), largest),
                            node.id));
  }
}

void add_widths(const Machine& machine, std::vector<Finding>& found) {
  int widest = 0;
  for (const NumaNode& node : machine.numa) widest = std::max(widest, node.mask_words.value_or(0));
  for (const NumaNode& node : machine.numa) {
    if (!node.mask_words || *node.mask_words == widest) continue;
    found.push_back(warning("cpu-mask-width",
                            fmt::format("The CPU mask of NUMA node {} has {} words of 32 bits, "
                                        "that of another node {}: one of them was cut.",
                                        node.id, *node.mask_words, widest),
                            node.id));
  }
}

}  // namespace

std::vector<Finding> cpu_masks(const Machine& machine) {
  std::vector<Finding> found;
  add_shared(machine, found);
  add_short(machine, found);
  add_widths(machine, found);
  return found;
}

}  // namespace lockstep::topology::findings
