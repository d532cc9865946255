// Reader of Slurm's topology.conf: the tree and the block plugin's.
//
// Gives switches with the tiers that the file states, hosts as adapters that have a name only, and
// blocks. A forest is accepted, and switches that stand below others of any tier. Switches that lie
// in a ring, stand twice or have nothing below them are refused with their line; what a switch
// lists and the file does not define is a finding.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_slurm_topology(std::string_view text);
[[nodiscard]] Reading read_slurm_topology(const Recording& recording);

}  // namespace lockstep::topology
