// Work split in pieces that depend on the work alone, never on the number of threads, so that sums
// have one order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep::engine::cpu {

// Elements of a piece of elementwise work: 64 KiB of floats.
inline constexpr std::int64_t kPiece = 16384;

// Calls work(i) for i in [0, pieces), on at most `threads` threads; returns when all are done.
// REQUIRES: pieces touch different bytes; work does not throw.
template <class Work>
void for_pieces([[maybe_unused]] int threads, std::int64_t pieces, const Work& work) {
#ifdef LOCKSTEP_OPENMP
  if (threads > 1 && pieces > 1) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < pieces; ++i) work(i);
    return;
  }
#endif
  for (std::int64_t i = 0; i < pieces; ++i) work(i);
}

// Calls work(begin, end) for stretches of at most `piece` of [0, count).
template <class Work>
void for_ranges(int threads, std::int64_t count, std::int64_t piece, const Work& work) {
  for_pieces(threads, (count + piece - 1) / piece,
             [&](std::int64_t i) { work(i * piece, std::min(count, (i + 1) * piece)); });
}

// Lets oneDNN use `threads` threads when called from this thread.
void use_threads(int threads);

}  // namespace lockstep::engine::cpu
