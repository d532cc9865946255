#include "topology/gpudirect.h"

namespace lockstep::topology {

GpuDirect gpudirect(const Gpu& gpu, const Nic& nic, PathKind distance, const PathOptions& options) {
  if (!gpu.gpudirect.value_or(true) || !nic.gpudirect.value_or(true))
    return GpuDirect::not_supported;
  // Grace: the way over C2C to an adapter on the CPU counts as the C2C link alone.
  if (distance == PathKind::P2C && options.gpudirect_over_c2c) distance = PathKind::C2C;
  return distance > options.gpudirect_level ? GpuDirect::too_far : GpuDirect::on;
}

}  // namespace lockstep::topology
