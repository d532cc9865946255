// Machines of the shapes that are hard to draw.
#pragma once

#include "topology/machine.h"

namespace lockstep::topology::test {

// 16 V100 (six NVLinks each, one to each NVSwitch of its half), 12 NVSwitches, 10 NICs, two
// sockets; two levels of PCIe switches.
[[nodiscard]] Machine dgx2();

// A virtual machine: 8 H100 and 8 InfiniBand adapters, each pair under a virtual switch that says
// nothing of its link; two NUMA nodes.
[[nodiscard]] Machine virtual_h100();

// What a matrix tells: 8 GPUs and 12 NICs on two nodes, no links, but a word for every pair.
[[nodiscard]] Machine matrix_only();

// 8 V100 in a cube of direct NVLinks, two sockets, four NICs.
[[nodiscard]] Machine cube();

// Two GPUs joined by four NVLinks, on one socket.
[[nodiscard]] Machine pair();

// Two Grace processors with two GPUs each, joined by C2C links; the GPUs' memory is nodes of its
// own.
[[nodiscard]] Machine grace();

// A host with two Ethernet adapters and no GPU.
[[nodiscard]] Machine storage();

}  // namespace lockstep::topology::test
