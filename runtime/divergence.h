// Why a step's loss was not finite.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "collectives/communicator.h"
#include "engine/device/visibility.h"
#include "runtime/data/loader.h"
#include "runtime/replica.h"

namespace lockstep::runtime {

// The loss became a number that is not finite. The parameters are those of the last good step.
class LOCKSTEP_API DivergedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DivergedStep {
  std::int64_t number = 0;  // from 1
  std::int64_t accumulate = 1;
  int rank = 0;  // of this worker in messages; its place in the group may be another
};

// Collective. Runs the step again from the same parameters, node by node. Throws DivergedError on
// the rank that finds the first fault, in the order of micro-steps, nodes and ranks; the others end
// with that rank. REQUIRES: the step's update was skipped; `loader` stands at its begin.
[[noreturn]] void explain_divergence(Replica& replica, collectives::Communicator& group,
                                     data::Loader& loader, const DivergedStep& step);

}  // namespace lockstep::runtime
