// A machine as a picture in SVG 1.1.
//
// Thread rule: a pure function. Cost: linear in devices and links, quadratic in those of a matrix.
#pragma once

#include <string>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

// A file of its own: no script, nothing fetched. Each device is one `rect` whose id is its name
// ("GPU3"), with what is known of it as its title; what findings name is red, and the findings
// stand below.
[[nodiscard]] std::string draw_svg(const Machine& machine, const PathTable& paths);

}  // namespace lockstep::topology
