// Which NIC is each GPU's.
//
// Read from the paths only: never "GPU i uses NIC i". GPUs that share their nearest NICs are spread
// over them in turn, as NCCL does. Thread rule: pure functions of values.
#pragma once

#include <string>
#include <vector>

#include "topology/advice/advice.h"
#include "topology/advice/nics.h"

namespace lockstep::topology {

enum class Affinity {
  known,
  hidden,  // a virtual machine or container whose PCI tree is flat: every path reads alike
  grace,   // GPU and NIC hang on different roots of a Grace CPU: SYS everywhere is normal there
  equal,   // no NIC is nearer than another
  none,    // no GPUs or no NICs to tell of
};

struct RailMap {
  Affinity affinity = Affinity::none;
  std::vector<GpuRail> rails;  // by GPU, then NIC; empty unless known
};

[[nodiscard]] RailMap rails_of(const Machine& machine, const PathTable& paths,
                               const std::vector<int>& gpus, const NicChoice& nics);

}  // namespace lockstep::topology
