// Machines built in code, for tests of what is said about a machine.
#pragma once

#include "topology/machine.h"

namespace lockstep::topology::test {

// An HGX H100 board in a host of two sockets: 8 GPUs (18 NVLinks each, through 4 NVSwitches) and 8
// NDR InfiniBand adapters mlx5_0 to mlx5_7, one of each under a PCIe Gen5 switch of its own, four
// switches a NUMA node; a 100G Ethernet bond `bond0` (mlx5_bond_0) on node 0. Everything is healthy
// and up.
[[nodiscard]] Machine hgx_h100();

// A workstation: one socket, 4 GPUs on PCIe Gen4 root ports, one 10G Ethernet adapter, no NVLink.
[[nodiscard]] Machine workstation();

}  // namespace lockstep::topology::test
