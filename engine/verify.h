// Refuses a plan that could compute something else than its graph says. A pure function, run in
// every test and at every start; a missing event is refused, not hoped to show.
#pragma once

#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/plan.h"

namespace lockstep::engine {

// What is wrong with `plan`, a sentence each; empty when it is sound. Checked:
//   - places: every operand lies inside its arena;
//   - order: any two nodes that touch overlapping bytes, one of them writing, are ordered by their
//   stream
//     or by events; an event is recorded before it is waited for;
//   - content: every input, when it is read in the list's order, still holds what its producer
//   wrote.
// Cost: nodes of the communication stream times nodes, plus operands times log of the live ranges.
[[nodiscard]] LOCKSTEP_API std::vector<std::string> violations(const Plan& plan);

// Throws Error with the first violations, if there are any.
LOCKSTEP_API void verify(const Plan& plan);

}  // namespace lockstep::engine
