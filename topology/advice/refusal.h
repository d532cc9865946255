// Whether settings may be written.
//
// Thread rule: pure functions.
#pragma once

#include "topology/advice/advice.h"

namespace lockstep::topology {

// Errors: std::invalid_argument, which names the setting and what is wrong with it, where one that
// is not kept would do harm on any machine. NCCL_IB_GID_INDEX for NCCL 2.21 and newer passes only
// where the findings have "duplicate-gid".
void refuse_harm(const HostAdvice& advice);

}  // namespace lockstep::topology
