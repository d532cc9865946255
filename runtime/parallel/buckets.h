// Which gradients travel together: a pure function of when each is ready, its size and what the
// link costs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::runtime::parallel {

// A reduction of M bytes takes latency + M * seconds_per_byte.
struct LinkCost {
  double latency = 0;
  double seconds_per_byte = 0;
};

struct ReadyGradient {
  double ready =
      0;  // seconds after the step's begin, by the cost model; not falling along the list
  std::size_t bytes = 0;
};

// Sizes of consecutive groups of `gradients`. A gradient joins the group before it when waiting for
// it costs that group less than the latency of a reduction of its own (merged-gradient wait-free
// backpropagation, Shi et al., INFOCOM 2019), so that groups are as large as the gaps in the
// backward pass allow and the last one, which nothing hides, is small. `largest`: bytes a group may
// have, 0 for no limit. O(n).
[[nodiscard]] LOCKSTEP_API std::vector<std::size_t> group_gradients(
    std::span<const ReadyGradient> gradients, const LinkCost& link, std::size_t largest);

}  // namespace lockstep::runtime::parallel
