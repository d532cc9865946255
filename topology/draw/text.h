// A machine for a terminal: what it is, its tree, its matrix, and what is wrong with it.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// The tree where links are known; without them only devices and matrix. A machine without GPUs says
// so.
[[nodiscard]] std::string draw_text(const Machine& machine, const PathTable& paths);

// One finding a paragraph: severity, message, where, remedy. Errors are first where the list has
// them first.
[[nodiscard]] std::string draw_findings(std::span<const Finding> findings);

}  // namespace lockstep::topology
