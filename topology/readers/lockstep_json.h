// Reader of what `lockstep probe --format json` prints of one host, or of a fabric alone.
//
// A Reading is of one host: several are refused with their number, and are for cluster_from_json
// (topology/json.h). What was found of the cluster as a whole stands behind the host's findings.
#pragma once

#include <string_view>

#include "topology/readers/reading.h"

namespace lockstep::topology {

[[nodiscard]] bool is_lockstep_json(std::string_view text);
[[nodiscard]] Reading read_lockstep_json(const Recording& recording);

}  // namespace lockstep::topology
