// How often a thread of this program allocated memory, in whichever library it happened.
#pragma once

namespace lockstep::topology::test {

// Allocations of the calling thread since the program started.
[[nodiscard]] long allocations_of_this_thread();

}  // namespace lockstep::topology::test
