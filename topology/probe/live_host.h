// What only the kernel and hwloc can say of the host this runs on, beyond its files.
//
// Thread rule: one thread. Errors: none; what a call does not give stays as it was.
#pragma once

#include "topology/machine.h"

namespace lockstep::topology {

// Sockets, cores and threads by hwloc, which knows the quirks of firmware. I/O devices are left
// out: looking at them can wake them. Cost: some 20 ms. REQUIRES: /sys shows CPU topology; without
// it hwloc complains on stderr and knows no more than /proc/cpuinfo.
void read_hwloc(Machine& machine);

// Addresses of interfaces of this network namespace, and IFF_RUNNING. Interfaces that /sys does not
// show are added.
void read_addresses(Machine& machine);

// The architecture by uname, the host's name, and the size of /dev/shm, where files did not say.
void read_kernel(Machine& machine);

}  // namespace lockstep::topology
