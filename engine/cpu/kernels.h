// The CPU's kernels for all standard ops: oneDNN for convolutions and matrix products, own code for the rest
// and for the small shapes where oneDNN is slow.
//
// Activations are N, H, W, C. Own kernels split work in fixed pieces, so that their results do not depend on
// the number of threads. Denormals are flushed to zero on the threads that run kernels (flush_denormals).
#pragma once

#include "engine/device/step_state.h"
#include "engine/device/visibility.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

// Kernels that use at most `threads` threads.
[[nodiscard]] LOCKSTEP_API KernelTable kernels(int threads);

// Makes the calling thread, and the kernels' threads, treat denormal numbers as zero. Momenta decay into
// denormals, which cost ten times a normal number.
LOCKSTEP_API void flush_denormals();

}  // namespace lockstep::engine::cpu
