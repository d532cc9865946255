// What NVIDIA's kernel driver says of itself and its GPUs in /proc and /sys, without NVML.
//
// Thread rule: pure functions.
#pragma once

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Fills the driver's version, peer memory, DMA-BUF and the fabric manager of machine.system, and
// name, UUID and memory node of GPUs by their address. REQUIRES: machine.gpus has addresses, and
// machine.system.kernel is read.
void read_nvidia_driver(const FileTree& tree, Machine& machine);

}  // namespace lockstep::topology
