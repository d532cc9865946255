// What matrix products reach on this device: the speed of light that a step is held against.
#pragma once

#include "engine/device/visibility.h"
#include "engine/kernel.h"
#include "engine/op.h"
#include "engine/passes.h"

namespace lockstep::engine {

// FLOP/s of the best of a few runs of one large product (1024 x 1024 x 1024) by the device's own
// kernels, in the arithmetic that `precision` allows. Cost: about 0.2 s.
[[nodiscard]] LOCKSTEP_API double matrix_ceiling(const OpTable& ops, const KernelTable& kernels,
                                                 Precision precision);

}  // namespace lockstep::engine
