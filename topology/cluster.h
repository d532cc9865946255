// Several hosts, the fabric between them, and what differs among them.
//
// Thread rule: a value.
#pragma once

#include <optional>
#include <vector>

#include "topology/fabric.h"
#include "topology/machine.h"

namespace lockstep::topology {

struct Cluster {
  std::vector<Machine> hosts;
  std::optional<Fabric> fabric;
  std::vector<Finding> findings;  // of the cluster: differences between hosts, hosts not reached

  bool operator==(const Cluster&) const = default;
};

}  // namespace lockstep::topology
