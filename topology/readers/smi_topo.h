// `nvidia-smi topo -m` and `-mp`: which GPUs and NICs are near each other.
//
// Forms that are read: NICs as columns of their own names (old) or as NICn with a "NIC Legend";
// affinity columns or none, blank (containers) or filled, with lists and ranges; blanks or tabs;
// wrapped by a terminal; pasted from one. A blank affinity is unknown. What `topo -mp` and cut
// recordings do not show is said in a finding. Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_smi_topo(std::string_view text);

// A machine of GPUs, NICs and Machine::stated, where each pair stands once, the device that comes
// first in the matrix as `from`; NUMA nodes as far as the affinities tell them. Errors: ReadError
// where no matrix can be read.
[[nodiscard]] Reading read_smi_topo(const Recording& recording);

}  // namespace lockstep::topology
