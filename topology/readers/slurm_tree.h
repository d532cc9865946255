// The switches of a Slurm tree, put together and checked.
//
// Thread rule: one thread. Cost: linear in switches and hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

// One line of the file, its lists expanded.
struct SlurmSwitch {
  std::string name;
  int line = 0;
  std::vector<std::string> switches, hosts;  // below it
};

// Fills the switches, adapters and tiers of a fabric. Errors: ReadError, in `file`.
[[nodiscard]] Fabric fabric_of_tree(const std::vector<SlurmSwitch>& tree, std::string_view file,
                                    Notes& notes);

}  // namespace lockstep::topology
