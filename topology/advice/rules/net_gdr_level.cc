// Source: NCCL user guide (NCCL_NET_GDR_LEVEL, PXB by default); NVIDIA/nccl#1464, #1600.
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling net_gdr_level(const Situation& situation) {
  if (!situation.crosses_hosts()) return {};
  const std::size_t nics = situation.nics.used.size();
  switch (situation.rails.affinity) {
    case Affinity::known:
    case Affinity::none:
      return {};
    case Affinity::grace:
      return {{},
              {},
              {{.severity = Severity::info,
                .code = "affinity-unknown",
                .message = "which NIC is each GPU's does not follow from this recording; SYS "
                           "between GPUs and NICs is normal on Grace, whose GPUs reach the CPU by "
                           "C2C",
                .where = "",
                .remedy = "probe the live host"}}};
    case Affinity::equal:
      if (nics < 2) return {};
      return {{},
              {},
              {{.severity = Severity::info,
                .code = "affinity-equal",
                .message = "no NIC is nearer to any GPU than another",
                .where = "",
                .remedy = ""}}};
    case Affinity::hidden:
      break;
  }
  return {{},
          {{"NCCL_NET_GDR_LEVEL",
            "PHB or SYS would turn GPUDirect on through the hypervisor's bus: only after a "
            "bandwidth test on these machines"}},
          {{.severity = Severity::warning,
            .code = "affinity-unknown",
            .message = "which NIC is each GPU's is unknown: every path reads alike, as where a "
                       "hypervisor hides the PCI tree; at its default level, PXB, NCCL then "
                       "leaves GPUDirect off",
            .where = "",
            .remedy = "give NCCL the real topology with NCCL_TOPO_FILE"}}};
}

}  // namespace lockstep::topology
