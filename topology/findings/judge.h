// What the owner of a machine should know about it: every rule of topology/findings/rules.h,
// applied.
//
// Thread rule: a pure function. Cost: O(devices^2).
#pragma once

#include <vector>

#include "topology/finding.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// Errors first, then warnings, then hints; within these in the order of the rules. What
// `machine.findings` holds already (same code and place) is not said again. `paths` is of
// `machine`.
[[nodiscard]] std::vector<Finding> judge(const Machine& machine, const PathTable& paths);

}  // namespace lockstep::topology
