// The matrix of paths, in the form of `nvidia-smi topo -m`.
//
// Thread rule: a pure function. Cost: quadratic in GPUs and NICs.
#pragma once

#include <string>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// A row and a column a GPU and NIC, CPUs and NUMA node of the GPUs, a legend of the kinds that
// occur, and the NICs' names. Empty for a machine without GPUs.
[[nodiscard]] std::string draw_matrix(const Machine& machine, const PathTable& paths);

}  // namespace lockstep::topology
