// Sources: NCCL user guide (NCCL_IB_GID_INDEX); NVIDIA/nccl#769, #890; openucx/ucx#9484.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topology/advice/rules.h"

namespace lockstep::topology {
namespace {

constexpr NcclVersion kChoosesByItself{2, 21, 0};

}  // namespace

Ruling ib_gid_index(const Situation& situation) {
  if (!situation.crosses_hosts()) return {};
  const auto roce = used_of(situation, NicKind::roce);
  const bool automatic = situation.nccl >= kChoosesByItself;
  std::set<int> best;
  std::vector<std::string> evidence;
  std::vector<Finding> findings;
  bool wrong = false;
  for (const GidFacts& facts : situation.options.gids) {
    if (!facts.best_index || std::find(roce.begin(), roce.end(), facts.nic) == roce.end()) continue;
    best.insert(*facts.best_index);
    const bool misled = automatic ? facts.duplicate && facts.nccl_index != facts.best_index
                                  : *facts.best_index != 0;
    wrong |= misled;
    if (!facts.evidence.empty()) {
      evidence.push_back(fmt::format("{}: {}", situation.nic(facts.nic).name, facts.evidence));
    }
    if (facts.duplicate) {
      findings.push_back({.severity = Severity::warning,
                          .code = "duplicate-gid",
                          .message = fmt::format("two RoCE v2 GIDs of {} are of one address: {}",
                                                 situation.nic(facts.nic).name, facts.evidence),
                          .where = situation.nic(facts.nic).name,
                          .remedy = "give the other interface (vxlan, macvlan) an address of its "
                                    "own"});
    }
  }
  if (!wrong) return {{}, {}, findings};
  if (best.size() > 1) {
    return {
        {},
        {{"NCCL_IB_GID_INDEX",
          fmt::format("the ports need different indices ({}), and one value serves all of them: "
                      "give NCCL 2.21 or newer addresses that are not ambiguous",
                      fmt::join(best, ", "))}},
        findings};
  }
  Advice advice{
      .variable = "NCCL_IB_GID_INDEX",
      .value = fmt::format("{}", *best.begin()),
      .reason = automatic
                    ? "two GIDs are of one address, and NCCL takes the first of them, which is "
                      "not of the port's own interface"
                    : "NCCL before 2.21 takes GID 0, which is no routable RoCE v2 address",
      .evidence = std::move(evidence)};
  return {{advice}, {}, findings};
}

}  // namespace lockstep::topology
