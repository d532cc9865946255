// Reads what `ibv_devinfo` prints of the RDMA devices of a host, with -v or without.
//
// Takes the older form with its "Device ports:" line, and excerpts that begin in the middle of a
// device, whose name is then unknown (empty). Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_ibv_devinfo(std::string_view text);

// NICs: name, port, state, kind, GUID (the node's), board; with -v physical state, rate and GIDs.
// Cost: linear.
[[nodiscard]] Reading read_ibv_devinfo(const Recording& recording);

}  // namespace lockstep::topology
