// Sources: azhpc-images#393 (identical masks), NVIDIA/nccl#1017.
#include <fmt/format.h>

#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling ignore_cpu_affinity(const Situation& situation) {
  const auto& nodes = situation.machine.numa;
  if (situation.gpus.empty()) return {};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = i + 1; j < nodes.size(); ++j) {
      if (nodes[i].cpus.empty() || nodes[i].cpus != nodes[j].cpus) continue;
      Advice advice{.variable = "NCCL_IGNORE_CPU_AFFINITY",
                    .value = "1",
                    .reason =
                        "what this host says of its CPUs is wrong, and NCCL would narrow the "
                        "launcher's binding by it",
                    .evidence = {fmt::format("NUMA nodes {} and {} both claim CPUs {}", nodes[i].id,
                                             nodes[j].id, nodes[i].cpus.to_list())},
                    .confidence = Confidence::medium};
      return {{advice}, {}, {}};
    }
  }
  return {};
}

}  // namespace lockstep::topology
