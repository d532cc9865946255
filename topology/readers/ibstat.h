// Reads what `ibstat` prints of the RDMA devices of a host.
//
// Also with a device or a device and a port as arguments. Where ibstat died in the middle
// ("ibpanic: ..."), all that it had printed is kept, and its last words are a finding.
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_ibstat(std::string_view text);

// NICs: name, port, state, physical state, rate, kind, GUID (the node's), board. Cost: linear.
[[nodiscard]] Reading read_ibstat(const Recording& recording);

}  // namespace lockstep::topology
