// The libnccl that a program on this host would load, without loading it.
//
// Looked for as the dynamic loader does: LD_LIBRARY_PATH, the folders of /etc/ld.so.conf and the
// files it includes, then the default folders. The version is that of the file's real name, else of
// the text "NCCL version 2.28.9" in its first 64 MiB. Thread rule: pure functions.
#pragma once

#include "topology/machine.h"
#include "topology/probe/file_tree.h"
#include "topology/probe/nccl_settings.h"

namespace lockstep::topology {

// Fills machine.system.nccl and nccl_library; both stay empty where there is none, and the version
// where neither name nor content says it.
void read_nccl_library(const FileTree& tree, const Environment& environment, Machine& machine);

}  // namespace lockstep::topology
