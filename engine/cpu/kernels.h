// The CPU's kernels for all standard ops: oneDNN for convolutions and matrix products, own code for
// the rest and for the small shapes where oneDNN is slow.
//
// Activations are N, H, W, C, in f32 or bf16. Own kernels split work in fixed pieces, so that their
// results do not depend on the number of threads; oneDNN's may. ONEDNN_MAX_CPU_ISA in the
// environment limits what oneDNN uses, and the own choices with it.
//
// Thread rule: a table is used, and its kernels run, by one thread at a time.
#pragma once

#include "engine/device/step_state.h"
#include "engine/device/visibility.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

// Which of the own kernels may be chosen. Whatever is chosen, loops that the compiler vectorises
// run in the widest form that the machine has.
enum class Isa {
  portable,  // oneDNN and plain loops: any machine
  avx512,    // hand-written kernels as well; needs AVX-512 F, BW, DQ and VL
};

// The best that this machine can run.
[[nodiscard]] LOCKSTEP_API Isa best_isa();

// How products and convolutions that may compute in bf16 (attribute `compute`) do it.
enum class LowProducts {
  fp32,         // in fp32, on operands that are stored in bf16
  onednn_bf16,  // with oneDNN's bf16 primitives and derived weights in bf16; sums are fp32.
                // Needs AVX-512 F, BW, DQ and VL; pays only where the machine has AMX
};

// onednn_bf16 with AMX, else fp32.
[[nodiscard]] LOCKSTEP_API LowProducts best_low_products();

// Kernels that use at most `threads` threads (without OpenMP: one, and oneDNN as many as
// OMP_NUM_THREADS says). Throws Error where `isa` or `low_products` is more than the machine has.
[[nodiscard]] LOCKSTEP_API KernelTable kernels(int threads, Isa isa = best_isa(),
                                               LowProducts low_products = best_low_products());

// Makes the calling thread, the kernels' threads and those it starts later treat denormal numbers
// as zero. Momenta decay into denormals, which cost ten times a normal number.
LOCKSTEP_API void flush_denormals();

}  // namespace lockstep::engine::cpu
