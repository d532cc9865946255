// The arithmetic of reductions.
#pragma once

#include <cstddef>

#include "collectives/communicator.h"

namespace lockstep::collectives::host {

// target[i] = sources[0][i] op sources[1][i] op ..., in that order, for `elements` elements.
// `average` divides the sum (integers truncate). A NaN in any source gives NaN. `target` may be one
// of the sources. REQUIRES: at least one source; u8 is not averaged. Compiled for several
// instruction sets, chosen at load.
void combine(DType type, ReduceOp op, std::byte* target, const std::byte* const* sources, int count,
             std::size_t elements);

// target[i] /= count, as `average` does. REQUIRES: not u8.
void divide(DType type, std::byte* target, int count, std::size_t elements);

}  // namespace lockstep::collectives::host
