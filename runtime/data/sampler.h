// In which order an epoch visits the samples: a function of (size, seed, epoch) alone, so that it
// is the same for any number of workers, threads and after any resume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::runtime::data {

// Entry p is the sample at position p of the epoch: a permutation of 0 to size-1, all equally
// likely. Cost: O(size), about 15 ns a sample. REQUIRES: size < 2^32, epoch < 2^28.
[[nodiscard]] LOCKSTEP_API std::vector<std::uint32_t> shuffled_order(std::size_t size,
                                                                     std::uint64_t seed,
                                                                     std::uint64_t epoch);

}  // namespace lockstep::runtime::data
