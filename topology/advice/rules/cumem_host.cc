// Source: NCCL release notes (2.24: on by default; 2.26.5: found out by itself).
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling cumem_host(const Situation& situation) {
  const bool needs_telling =
      situation.nccl >= NcclVersion{2, 24, 0} && situation.nccl < NcclVersion{2, 26, 5};
  if (!needs_telling || !situation.machine.system.container.value_or(false) ||
      situation.gpus.size() < 2) {
    return {};
  }
  Advice advice{
      .variable = "NCCL_CUMEM_HOST_ENABLE",
      .value = "0",
      .reason =
          "containers mostly refuse NUMA calls, and this NCCL then fails to allocate host "
          "memory; 2.26.5 and newer find out by themselves",
      .evidence = {"this is a container"},
      .confidence = Confidence::medium};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
