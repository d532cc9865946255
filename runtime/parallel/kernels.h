// Kernels of runtime/parallel/ops.h on ranks whose arenas the host can touch: they enqueue on a
// communicator.
#pragma once

#include "collectives/communicator.h"
#include "engine/device/visibility.h"
#include "engine/kernel.h"

namespace lockstep::runtime::parallel {

// `communicator` must outlive every program bound with `kernels`.
LOCKSTEP_API void add_kernels(engine::KernelTable& kernels,
                              collectives::Communicator& communicator);

}  // namespace lockstep::runtime::parallel
