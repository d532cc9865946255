#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

// "The pair GPU0 and GPU1 has 12 NVLinks".
std::string bridged_pair(const Machine& machine, const NvlinkCounts& counts) {
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      if (counts.pair[a][b] > 0)
        return fmt::format("The pair GPU{} and GPU{} has {} NVLink{}", a, b, counts.pair[a][b],
                           counts.pair[a][b] == 1 ? "" : "s");
    }
  }
  return {};
}

}  // namespace

std::vector<Finding> dead_bridges(const Machine& machine) {
  const NvlinkCounts counts = count_nvlinks(machine);
  if (counts.shape != NvlinkShape::bridges) return {};
  // A bridge spans neighbouring slots, so only GPUs of one product on one node can be a pair.
  std::map<std::pair<std::string, int>, std::vector<std::size_t>> groups;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    if (counts.all[gpu] == 0)
      groups[{machine.gpus[gpu].name, machine.gpus[gpu].numa.value_or(-1)}].push_back(gpu);
  }
  std::vector<Finding> found;
  for (const auto& [kind, gpus] : groups) {
    const bool has_peers =
        std::ranges::any_of(machine.gpus, [&, first = gpus.front()](const Gpu& gpu) {
          return counts.all[static_cast<std::size_t>(&gpu - machine.gpus.data())] > 0 &&
                 are_alike(gpu, machine.gpus[first]);
        });
    if (gpus.size() < 2 || !has_peers) continue;
    std::vector<std::string> names;
    std::string where;
    for (const std::size_t gpu : gpus) {
      const DeviceId id{DeviceKind::gpu, static_cast<int>(gpu)};
      names.push_back(name_of(machine, id));
      where += fmt::format("{}{}", where.empty() ? "" : "-", to_string(id));
    }
    // A container may have been given halves of pairs.
    const bool shared = machine.system.container.value_or(false);
    found.push_back({.severity = shared ? Severity::info : Severity::warning,
                     .code = "dead-nvlink-bridge",
                     .message = fmt::format("{}, {} {} none on the same kind of GPU.",
                                            bridged_pair(machine, counts),
                                            gpus.size() == 2 ? "the pair" : "the GPUs",
                                            list_of(names) + (gpus.size() == 2 ? " has" : " have")),
                     .where = where,
                     .remedy = "If a bridge is fitted there it makes no contact: reseat it and "
                               "restart. Else take the GPUs that are bridged for jobs of two."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
