// Rails: leaves that serve the same adapter of all their hosts.
//
// Thread rule: a pure function. Cost: O(n log n) in the number of attachments.
#pragma once

#include <compare>
#include <vector>

#include "topology/fabric.h"

namespace lockstep::topology {

// One port of a host's adapter on a leaf; positions in the fabric's lists.
struct Attachment {
  int leaf = 0;
  int adapter = 0;
  int port = 0;  // of the adapter

  auto operator<=>(const Attachment&) const = default;
};

// A leaf belongs to the rail of a device when more than half of its adapters whose device is known
// are that device; other adapters on it belong to none. Where no description names a device, hosts
// that share a set of leaves, with one adapter on each, make a rail of each leaf.
// REQUIRES: `attachments` is sorted, without repetitions, of adapters of kind host only.
[[nodiscard]] std::vector<Rail> rails_of(const Fabric& fabric,
                                         const std::vector<Attachment>& attachments);

}  // namespace lockstep::topology
