// What a recording says itself about pairs of devices, as paths.
//
// Thread rule: pure functions. Source of the words: `nvidia-smi topo -m`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/paths.h"

namespace lockstep::topology {

// The kind that a word of nvidia-smi's stands for: "NV18" is NVL, "NODE" is PHB to NCCL, which does
// not tell apart the host bridges of a NUMA node. Words that are none are `unknown`.
[[nodiscard]] PathKind kind_of_label(std::string_view label);

// "NV18" -> 18.
[[nodiscard]] std::optional<int> nvlinks_of_label(std::string_view label);

// A path for each pair of `machine.stated` that names GPUs and NICs, with its label. NVLinks have a
// bandwidth where the GPUs' generation is known; of other words nothing is known.
[[nodiscard]] std::vector<Path> stated_paths(const Machine& machine);

}  // namespace lockstep::topology
