// Source: NCCL user guide (NCCL_NET_GDR_C2C: since 2.26, on since 2.27).
#include <algorithm>

#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling net_gdr_c2c(const Situation& situation) {
  const auto& links = situation.machine.links;
  const bool c2c = std::any_of(links.begin(), links.end(),
                               [](const Link& link) { return link.kind == LinkKind::c2c; }) ||
                   situation.rails.affinity == Affinity::grace;
  const bool off = situation.nccl.major == 2 && situation.nccl.minor == 26;
  if (!situation.crosses_hosts() || !c2c || !off || situation.nics.used.empty()) return {};
  Advice advice{
      .variable = "NCCL_NET_GDR_C2C",
      .value = "1",
      .reason = "NCCL 2.26 can reach a NIC through a Grace CPU's C2C link but does so only if told",
      .evidence = {"the GPUs reach their CPU by C2C"}};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
