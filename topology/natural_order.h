// The order in which people count devices: mlx5_2 before mlx5_10.
//
// Tools that walk a directory list devices in the order of their letters, which is no order of the
// machine's; readers of such lists use this one. Thread rule: pure functions.
#pragma once

#include <string_view>

namespace lockstep::topology {

// Whether `a` comes before `b`: runs of digits compare as numbers of any length, all else by byte.
// A strict order; names that differ only in leading zeros are ordered by their bytes.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace lockstep::topology
