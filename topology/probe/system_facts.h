// What the operating system allows and says about itself, from /proc, /sys, /dev and /run.
//
// Thread rule: pure functions. What cannot be told stays empty; only what NCCL's choices hang on is
// reported as unreadable.
#pragma once

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Fills machine.name and machine.system but for GPU driver, NCCL and its settings.
void read_system(const FileTree& tree, Machine& machine);

}  // namespace lockstep::topology
