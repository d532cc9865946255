// --include and --exclude: some of the hosts and devices of an allocation, in DeepSpeed's grammar
// NODE[:device,device...]@NODE..., devices counted from 0.
//
// Thread rule: a function of its arguments. Errors: AllocationError where the grammar is broken, a
// host is not in the allocation, a device is beyond the slots that a user stated, or nothing is
// left.
#pragma once

#include <string_view>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {

enum class Filter { kInclude, kExclude };

// The hosts keep their order. A host excluded without devices, or with all of its stated slots,
// leaves the allocation.
void apply_filter(Allocation& allocation, Filter filter, std::string_view value);

}  // namespace lockstep::launcher
