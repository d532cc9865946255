// An allocated host as ssh's destination argument.
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {

// "node1", "me@node1", "ssh://me@node1:2222"; ssh looks up the name in its config in either form.
[[nodiscard]] std::string ssh_destination(const AllocatedHost& host);

}  // namespace lockstep::launcher
