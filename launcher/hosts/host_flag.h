// The value of --hosts: "a:8,user@b,10.0.0.3,[fe80::1%eth0]:4".
//
// Thread rule: a pure function.
#pragma once

#include <vector>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

// Hosts between commas, each with its slots where they are stated, none twice. Errors:
// AllocationError with the character's place.
[[nodiscard]] std::vector<AllocatedHost> read_host_flag(const LocatedText& flag);

}  // namespace lockstep::launcher
