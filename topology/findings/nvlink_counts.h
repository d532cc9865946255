// How many NVLinks join the GPUs of a machine, whichever way the recording says it.
//
// Thread rule: a pure function. A link from a GPU to itself is not counted (files of some providers
// have them to steer NCCL's search).
#pragma once

#include <vector>

#include "topology/machine.h"

namespace lockstep::topology::findings {

enum class NvlinkShape {
  none,
  fabric,   // every GPU on NVSwitches
  bridges,  // pairs: no GPU has more than one peer
  mesh      // GPUs joined directly
};

struct NvlinkCounts {
  NvlinkShape shape = NvlinkShape::none;
  std::vector<std::vector<int>> pair;  // [gpu][gpu]: links between them, one way or the other
  std::vector<int> all;                // [gpu]: links in all
};

// From links where there are NVLinks among them, else from the "NV#" of stated pairs. `pair` is
// empty of links in a fabric that is recorded by its switches.
[[nodiscard]] NvlinkCounts count_nvlinks(const Machine& machine);

// Whether both are of one product, as far as that is known.
[[nodiscard]] bool are_alike(const Gpu& a, const Gpu& b);

}  // namespace lockstep::topology::findings
