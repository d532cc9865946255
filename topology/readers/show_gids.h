// Reads the GID tables that `show_gids` prints.
//
// Rows that are missing are of entries that are empty or of another network namespace. Thread rule:
// pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_show_gids(std::string_view text);

// NICs: name, port, GIDs; RoCE where a row says so (version 2, or an interface); netdev: the owner
// of the default GID. Cost: linear.
[[nodiscard]] Reading read_show_gids(const Recording& recording);

}  // namespace lockstep::topology
