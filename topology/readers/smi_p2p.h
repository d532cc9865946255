// `nvidia-smi topo -p2p r|w|n|a|p`: whether GPUs may read, write, ... each other's memory.
//
// The output does not say which of them was asked for; the command does, where it was recorded
// with it, else reading is assumed and said in a finding. A file may hold several of these
// matrices. Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_smi_p2p(std::string_view text);

// A machine of GPUs and Machine::peers, each direction of a pair as its row says it. Errors:
// ReadError where no matrix can be read.
[[nodiscard]] Reading read_smi_p2p(const Recording& recording);

}  // namespace lockstep::topology
