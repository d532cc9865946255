// The advice for one host, with all that is known of it besides its Machine.
//
// Thread rule: any thread.
#pragma once

#include "topology/advice/advice.h"
#include "topology/machine.h"

namespace lockstep::topology {

// kHere: the machine is this host, whose libnccl can be asked which variables it knows.
enum class Whereabouts { kHere, kElsewhere };

// advise() with what the host's GID tables say and, where it is this one, its libnccl.
[[nodiscard]] HostAdvice advise_host(const Machine& machine, AdviceOptions options,
                                     Whereabouts where);

}  // namespace lockstep::topology
