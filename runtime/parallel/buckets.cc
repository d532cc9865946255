#include "runtime/parallel/buckets.h"

#include <algorithm>

namespace lockstep::runtime::parallel {

std::vector<std::size_t> group_gradients(std::span<const ReadyGradient> gradients,
                                         const LinkCost& link, std::size_t largest) {
  std::vector<std::size_t> groups;
  double link_free = 0;  // when the groups before have landed
  std::size_t bytes = 0;
  double ready = 0;
  for (const ReadyGradient& gradient : gradients) {
    const double start = std::max(ready, link_free);  // when the open group could start
    const bool full = largest > 0 && bytes + gradient.bytes > largest;
    if (!groups.empty() && !full && gradient.ready < start + link.latency) {
      ++groups.back();
      bytes += gradient.bytes;
    } else {
      if (!groups.empty()) {
        link_free = start + link.latency + static_cast<double>(bytes) * link.seconds_per_byte;
      }
      groups.push_back(1);
      bytes = gradient.bytes;
    }
    ready = gradient.ready;
  }
  return groups;
}

}  // namespace lockstep::runtime::parallel
