// Reads what `ibstatus` prints of the RDMA ports of a host.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_ibstatus(std::string_view text);

// NICs: name, port, state, physical state, rate, kind. Cost: linear.
[[nodiscard]] Reading read_ibstatus(const Recording& recording);

}  // namespace lockstep::topology
