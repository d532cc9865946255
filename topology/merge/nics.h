// Adapters of one host, each out of what the recordings that know it say.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

// An interface of which one recording says that it is a bond where another names a member.
struct BondMember {
  std::string member, bond;
};

struct MergedNics {
  std::vector<Nic> nics;
  std::vector<BondMember> members;
};

[[nodiscard]] MergedNics merge_nics(const Recordings& recordings, const Grouping& grouping,
                                    std::vector<Finding>& findings);

}  // namespace lockstep::topology::merging
