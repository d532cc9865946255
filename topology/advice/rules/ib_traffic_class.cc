// Source: NCCL user guide (NCCL_IB_TC). Values seen: 106 (DSCP 26), OCI 41 (DSCP 10).
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling ib_traffic_class(const Situation& situation) {
  if (!situation.crosses_hosts() || used_of(situation, NicKind::roce).empty()) return {};
  return {{},
          {{"NCCL_IB_TC",
            "RoCE loses packets unless its traffic class is the one the switches keep lossless: "
            "ask who runs them for its DSCP d and set 4*d (plus 1 or 2 for ECN)"}},
          {}};
}

}  // namespace lockstep::topology
