// Source: NCCL user guide (NCCL_IB_QPS_PER_CONNECTION); OCI's nccl.conf for RoCE shapes (4).
#include <fmt/format.h>

#include "topology/advice/rules.h"
#include "topology/bond.h"

namespace lockstep::topology {

Ruling ib_queue_pairs(const Situation& situation) {
  if (!situation.crosses_hosts()) return {};
  std::vector<std::string> bonds;
  for (const int i : used_of(situation, NicKind::roce)) {
    if (!bond_of(situation.machine, situation.nic(i)).empty())
      bonds.push_back(situation.nic(i).name);
  }
  if (bonds.empty()) return {};
  Advice advice{.variable = "NCCL_IB_QPS_PER_CONNECTION",
                .value = "4",
                .reason =
                    "a bond sends a queue pair through one of its ports, and NCCL opens one queue "
                    "pair a connection; compare with a bandwidth test",
                .evidence = {fmt::format("rails that are bonds: {}", fmt::join(bonds, ", "))},
                .confidence = Confidence::low};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
