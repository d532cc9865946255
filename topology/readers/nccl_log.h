// The topology that NCCL prints with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=GRAPH.
//
//     === System : maxBw 48.0 totalBw 370.8 ===
//     CPU/0-0 (1/2/-1)
//     + PCI[48.0] - GPU/0-68000 (8)
//                   + NVL[370.8] - NVS/0-0
//
// Lines may carry "host:pid:tid [0] NCCL INFO ", timestamps or an MPI tag in front, or nothing, and
// may be mixed with any others; the beginning or the end of the tree may be cut off. Of many dumps
// (one a rank and communicator) the one with most lines is read; of several hosts of one NVLink
// domain the first. Bandwidths are kept as stated. RCCL's dumps, with XGMI links, are read too.
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_nccl_log(std::string_view text);

// A machine of NUMA nodes, GPUs, NICs (one a NET), switches and links. The number of NVLinks of a
// link follows from its bandwidth and NCCL's table of bandwidths of one (1 where none divides it).
// Errors: ReadError where no node can be read.
[[nodiscard]] Reading read_nccl_log(const Recording& recording);

}  // namespace lockstep::topology
