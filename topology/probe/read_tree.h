// A host as its files show it: all that the probe knows without asking a library or the kernel.
//
// One order for the live host and for snapshots: processors, memory domains, PCI bus, RDMA
// adapters, interfaces, GPUs, links. What the tree does not have becomes an info finding
// "unreadable"; nothing is guessed, and a tree without any of it gives an almost empty Machine.
// Thread rule: a pure function. Cost: a few thousand small files on a large host.
#pragma once

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// The settings and NCCL's library are not looked for: they need the environment (probe()).
[[nodiscard]] Machine read_tree(const FileTree& tree);

}  // namespace lockstep::topology
