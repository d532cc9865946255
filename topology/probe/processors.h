// Processors and memory domains, from /proc/cpuinfo and /sys/devices/system.
//
// Thread rule: pure functions; what is missing is left empty in the machine, with a finding
// "unreadable".
#pragma once

#include "topology/machine.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// Fills machine.cpu. Sockets and cores come from the topology files of /sys, else from
// /proc/cpuinfo.
void read_cpu(const FileTree& tree, Machine& machine);

// Fills machine.numa. A host whose nodes are not shown gets one node of number -1 with all its CPUs
// and memory, where these are known. REQUIRES: read_cpu came before.
void read_numa(const FileTree& tree, Machine& machine);

}  // namespace lockstep::topology
