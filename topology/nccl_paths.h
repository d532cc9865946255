// NCCL's calculation of all paths: the search, and what NCCL then changes about its result.
//
// In NCCL's order: GPUs that may not talk directly are led through the CPU of the second one (to
// which the first may have a wide way over an NVLink, so that SYS may become PHB); an
// adapter on the CPU of a GPU that has C2C becomes P2C; an adapter that another GPU reaches better
// is used through that one (PXN); without GPUDirect the way to an adapter leads through the GPU's
// CPU. Source: NCCL 2.28 graph/paths.cc (ncclTopoComputePaths). Thread rule: a pure function.
#pragma once

#include <vector>

#include "topology/path_search.h"

namespace lockstep::topology {

// Row and column by the machine's indices; at most kMaxPathDevices devices in all.
struct NcclPaths {
  std::vector<std::vector<Route>> gpu_to_gpu;   // [from][to]
  std::vector<std::vector<Route>> gpu_to_port;  // [gpu][nic]
  std::vector<std::vector<Route>> port_to_port;
};

[[nodiscard]] NcclPaths nccl_paths(const Machine& machine, const PathOptions& options);

}  // namespace lockstep::topology
