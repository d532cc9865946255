// What goes wrong on several ranks at once is said by one of them.
#pragma once

#include "collectives/communicator.h"

namespace lockstep::runtime {

// Collective. The least of all ranks' numbers: by it they agree on who speaks.
[[nodiscard]] double least(collectives::Communicator& group, double number);

// For the ranks that do not: throws with that rank's failure, as soon as it has ended.
[[noreturn]] void wait_for_the_end_of(collectives::Communicator& group, int rank);

}  // namespace lockstep::runtime
