// Finds which op of a step first gave a number that is not finite.
#pragma once

#include <optional>
#include <string>

#include "engine/device/visibility.h"
#include "runtime/data/loader.h"
#include "runtime/replica.h"

namespace lockstep::runtime {

// What went wrong, as a sentence: the op and tensor, and whether its inputs were finite.
struct Fault {
  std::int64_t place = 0;  // order of discovery within the step, to compare ranks by
  std::string message;
};

// Collective. Runs one micro-step in checking mode (each node ended before the next) and gives the
// first node of this rank whose output is not finite; before that, an input or parameter that is
// not. The step's update must have been skipped, so that the parameters are those it began with.
[[nodiscard]] LOCKSTEP_API std::optional<Fault> find_fault(Replica& replica,
                                                           const data::Batch& batch);

}  // namespace lockstep::runtime
