// Several hosts as a cluster, and what differs among them.
//
// Hosts of one job should be alike: the slowest sets the pace, NCCL of two versions refuses to
// start, and one list of adapter names has to fit all. What differs is said once for all hosts,
// the odd ones by name.
//
// Thread rule: pure functions. Cost: each host is looked at once for each aspect.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "topology/cluster.h"
#include "topology/cluster_aspects.h"

namespace lockstep::topology {

// What one comparison gives.
struct Comparison {
  std::optional<Finding> finding;
  std::vector<int> alike;  // positions of the hosts that say what most say, or nothing
};

// Compares the hosts of `hosts` at `positions`. The most frequent value is taken for the usual one,
// of several as frequent that of the earliest host. Names at most eight hosts and four values.
[[nodiscard]] Comparison compare(std::span<const Machine> hosts, std::span<const int> positions,
                                 const Aspect& aspect);

// GPUs (number, then products), adapters (number, then names, then those that are usable), versions
// of driver, NCCL and kernel, and hosts of the same name. Of adapters and GPUs, hosts that differ
// in one aspect are left out of the next, which would only say the same again.
[[nodiscard]] std::vector<Finding> differences(std::span<const Machine> hosts);

// The cluster of these hosts, in their order, with what differs among them.
[[nodiscard]] Cluster merge_hosts(std::vector<Machine> hosts,
                                  std::optional<Fabric> fabric = std::nullopt);

}  // namespace lockstep::topology
