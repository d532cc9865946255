// Source: NCCL user guide (NCCL_CROSS_NIC); NVIDIA/nccl#836, #1350.
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling cross_nic(const Situation& situation) {
  if (!situation.crosses_hosts() || situation.nics.used.size() < 2 ||
      situation.options.rails != RailConnection::isolated) {
    return {};
  }
  Advice advice{.variable = "NCCL_CROSS_NIC",
                .value = "0",
                .reason = "NICs of different rails do not reach each other, which NCCL cannot see",
                .evidence = {situation.options.rails_evidence.empty()
                                 ? "the fabric's rails have no switch in common"
                                 : situation.options.rails_evidence,
                             "it helps only where the same GPUs take part on every host"},
                .confidence = Confidence::medium};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
