// Reads which network interface is which RDMA port, as `ibdev2netdev` prints it, with -v or
// without.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_ibdev2netdev(std::string_view text);

// NICs: name, port, netdev, state, kind where the interface's name tells; with -v PCI address and
// board. The state printed is the interface's: of an InfiniBand port, which can be active while its
// IP interface is down, it is taken only from -v. Interfaces: name, kind, up. Cost: linear.
[[nodiscard]] Reading read_ibdev2netdev(const Recording& recording);

}  // namespace lockstep::topology
