// How many workers a host of an allocation has unless told, may have, and on which devices.
//
// Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/hosts/placement.h"

namespace lockstep::launcher {

struct HostRoom {
  enum class By { kGpus, kSlots, kNothing };

  std::uint32_t usual = 1;             // without a number of the user's; at least 1
  By by = By::kNothing;                // where `usual` comes from
  std::optional<std::uint32_t> limit;  // not to be passed unless oversubscribed; none: no limit
  std::optional<std::uint32_t> most;   // not even oversubscribed
  std::vector<std::uint32_t> devices;  // to be used, in order; empty: 0, 1, 2, ...
};

// REQUIRES: index < allocation.hosts.size(). Errors: PlacementError where --include or --exclude
// name devices that the host does not have, or leave none.
[[nodiscard]] HostRoom room_of(const Allocation& allocation, std::size_t index,
                               const WorkerRequest& request);

}  // namespace lockstep::launcher
