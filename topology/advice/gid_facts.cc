#include "topology/advice/gid_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "topology/gid_choice.h"

namespace lockstep::topology {

std::vector<GidFacts> gid_facts(const Machine& machine) {
  std::vector<GidFacts> all;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    const GidChoice choice = choose_gid(nic);
    if (!choice.right && !choice.by_nccl) continue;
    GidFacts facts;
    facts.nic = static_cast<int>(i);
    facts.nccl_index = choice.by_nccl;
    facts.best_index = choice.right;
    facts.duplicate = choice.right && choice.by_nccl &&
                      std::ranges::count(choice.duplicates, *choice.by_nccl) > 0;
    if (facts.duplicate) {
      facts.evidence =
          fmt::format("GIDs {} and {} have one address; {} is of {}, the port's own", *choice.right,
                      fmt::join(choice.duplicates, ", "), *choice.right, own_interface(nic));
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace lockstep::topology
