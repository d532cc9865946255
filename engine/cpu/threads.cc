#include "engine/cpu/threads.h"

#include "engine/cpu/kernels.h"

#ifdef LOCKSTEP_OPENMP
#include <omp.h>
#endif
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace lockstep::engine::cpu {
namespace {

void flush_denormals_here() {
#ifdef __x86_64__
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace

void use_threads([[maybe_unused]] int threads) {
#ifdef LOCKSTEP_OPENMP
  omp_set_num_threads(threads);
#endif
}

// A new thread inherits the mode of the one that starts it; the region reaches those that are
// there.
void flush_denormals() {
  flush_denormals_here();
#ifdef LOCKSTEP_OPENMP
#pragma omp parallel
  flush_denormals_here();
#endif
}

}  // namespace lockstep::engine::cpu
