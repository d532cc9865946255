// Whether recordings that were given as of one host are of one, as far as its adapters tell.
//
// Thread rule: a pure function. Cost: O(parts^2 x adapters).
#pragma once

#include <vector>

#include "topology/finding.h"
#include "topology/merge/groups.h"

namespace lockstep::topology::merging {

// different-hosts, a warning: two recordings that share adapters have each one that the other
// lacks, or one name at two places of the PCI bus. adapters-missing, a hint: a matrix has fewer
// adapters than another recording, or more than one that lists all. Right where a container hides
// some, and yet the only sign where a host with fewer is another host.
[[nodiscard]] std::vector<Finding> strangers(const Recordings& recordings, const Grouping& nics);

}  // namespace lockstep::topology::merging
