// Which devices of several recordings are one and the same.
//
// Thread rule: pure functions. Cost: O(parts x devices^2).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology::merging {

// The recordings and how findings name them: sources[i] is of parts[i].
struct Recordings {
  std::span<const Machine> parts;
  std::span<const std::string> sources;
};

struct Member {
  std::size_t part = 0;   // of the recordings
  std::size_t index = 0;  // in that recording's list
};

struct Grouping {
  // A device of the merged list, by the recordings that know it, in their order.
  std::vector<std::vector<Member>> groups;
  // place[part][index]: the position in `groups`.
  std::vector<std::vector<std::size_t>> place;
};

struct Groupings {
  Grouping gpus, nics, switches, nvswitches;

  // The id in the merged machine of what `part` calls `id`; empty where it has no such device. NUMA
  // nodes keep the operating system's number.
  [[nodiscard]] std::optional<DeviceId> place_of(std::size_t part, DeviceId id) const;
};

[[nodiscard]] Groupings group_devices(std::span<const Machine> parts);

}  // namespace lockstep::topology::merging
