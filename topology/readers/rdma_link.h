// Reads what `rdma link` (iproute2) prints of RDMA ports, as lines or as JSON (-j).
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_rdma_link(std::string_view text);

// NICs: name, port, state, physical state, netdev; InfiniBand where a subnet is named, RoCE where
// the interface's name tells. Errors: ReadError for JSON that is cut or larger than any host's.
// Cost: linear.
[[nodiscard]] Reading read_rdma_link(const Recording& recording);

}  // namespace lockstep::topology
