// Whether NICs of different rails reach each other, read from a fabric.
//
// Thread rule: a pure function. Cost: about linear in the number of links.
#pragma once

#include <string>
#include <string_view>

#include "topology/advice/advice.h"
#include "topology/fabric.h"

namespace lockstep::topology {

struct RailFacts {
  RailConnection connection = RailConnection::unknown;
  // "rails.txt: 2 rails (mlx5_0, mlx5_1) on 4 leaf switches, and no link joins one to another";
  // empty where it is unknown.
  std::string evidence;
};

// Isolated: there are rails, and from the leaves of none a way leads over switches or routers to a
// leaf of another. Connected: from some there is one. A switch that a link names counts, though the
// recording was cut before it. Unknown for a host of RoCE ports only: fabrics are read of
// InfiniBand. `source` is what the fabric was read from, for people.
[[nodiscard]] RailFacts rail_facts(const Fabric& fabric, const Machine& host,
                                   std::string_view source);

}  // namespace lockstep::topology
