// Reader of `ibnetdiscover` output and of ibsim's net files: the fabric between hosts.
//
// Each link stands twice in such a file, once at each end; a link that only one end states is kept,
// with a finding. A node or port line that is damaged is refused with its line, except where the
// file breaks off in it. GUIDs are given without the "S-", "H-", "R-" that ids begin with.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_ibnetdiscover(std::string_view text);
[[nodiscard]] Reading read_ibnetdiscover(const Recording& recording);

}  // namespace lockstep::topology
