// Source: azhpc-images (components/customizations/ndv4.sh, ndv5.sh).
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling ib_relaxed_ordering(const Situation& situation) {
  if (!situation.crosses_hosts() || situation.provider != Provider::azure ||
      used_of(situation, NicKind::infiniband).empty()) {
    return {};
  }
  Advice advice{.variable = "NCCL_IB_PCI_RELAXED_ORDERING",
                .value = "1",
                .reason = "in Azure's machines GPUDirect is slow without relaxed ordering",
                .evidence = {"Azure's images set it for NDv4 and NDv5; it is not set here"}};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
