// The known name nearest to a mistyped one, for messages.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::runtime {

// Distance: letters inserted, left out, changed, or exchanged with their neighbour; upper and lower
// case are the same. None where every name would need more than a third of its letters changed. The
// first of equals. Cost: O(letters of word x letters of all names).
[[nodiscard]] LOCKSTEP_API std::optional<std::string_view> nearest(
    std::string_view word, const std::vector<std::string_view>& names);

}  // namespace lockstep::runtime
