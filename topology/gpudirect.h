// Whether an adapter reads and writes a GPU's memory itself (GPUDirect RDMA), by NCCL's rule.
//
// Source: NCCL 2.28 graph/paths.cc (ncclTopoCheckGdr). Thread rule: a pure function.
#pragma once

#include "topology/devices.h"
#include "topology/paths.h"

namespace lockstep::topology {

enum class GpuDirect {
  on,
  too_far,        // beyond the level
  not_supported,  // by the GPU or the adapter, as the recording has it
};

// `distance` is the kind of the path between both; where that is PXN, of the path between the
// adapter and the GPU that stands in. Where the recording does not say whether a device supports
// it, it is taken to.
[[nodiscard]] GpuDirect gpudirect(const Gpu& gpu, const Nic& nic, PathKind distance,
                                  const PathOptions& options = {});

}  // namespace lockstep::topology
