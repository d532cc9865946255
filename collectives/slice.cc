#include <algorithm>

#include "collectives/communicator.h"

namespace lockstep::collectives {

Slice slice_of(std::size_t count, int rank, int world) {
  constexpr std::size_t kLine = 16;
  const auto ranks = static_cast<std::size_t>(world);
  const std::size_t equal = count / ranks + (count % ranks != 0 ? 1 : 0);
  const std::size_t part = (equal + kLine - 1) / kLine * kLine;
  const std::size_t begin = std::min(count, part * static_cast<std::size_t>(rank));
  return {begin, std::min(count, begin + part)};
}

}  // namespace lockstep::collectives
