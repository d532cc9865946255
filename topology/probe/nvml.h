// NVIDIA's management library, opened at run time where an NVIDIA GPU is on the bus.
//
// Everything it knows is added to the GPUs that /sys has shown, matched by PCI address: names,
// UUIDs, memory, compute capability, NVLink ports with what is at their other end, peer-to-peer
// status, NVLink-C2C of Grace. A library, function or answer that is missing is a finding, never an
// error. The C functions are declared here by hand (nvml.h of CUDA 12; the interface is stable and
// versioned by name), so that nothing of NVIDIA's is needed to build. Thread rule: one thread.
// Cost: NVML's own start, up to seconds where no persistence daemon keeps the driver ready.
#pragma once

#include <string>

#include "topology/machine.h"

namespace lockstep::topology {

// REQUIRES: machine.gpus have addresses; machine.numa is read.
void read_nvml(const std::string& library, Machine& machine);

}  // namespace lockstep::topology
