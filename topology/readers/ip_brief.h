// Reads the network interfaces of a host, as `ip -br addr` and `ip -br link` print them.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

// By the shape of at least half of the lines: such a list has no heading.
[[nodiscard]] bool is_ip_brief(std::string_view text);

// Interfaces, in the recording's order: name (without what it sits on), kind by name and, of
// `ip -br link`, by flags; up; addresses. Cost: linear.
[[nodiscard]] Reading read_ip_brief(const Recording& recording);

}  // namespace lockstep::topology
