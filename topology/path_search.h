// NCCL's search for the shortest and then widest paths to one node.
//
// Source: NCCL 2.28 graph/paths.cc (ncclTopoSetPaths). Thread rule: a pure function.
#pragma once

#include <vector>

#include "topology/path_graph.h"

namespace lockstep::topology {

// From some node to the one that was searched for.
struct Route {
  int hops = 0;
  PathKind kind = PathKind::DIS;  // DIS: there is none
  double GBps = 0;                // the narrowest link whose speed is known
  bool known = true;              // whether that of every link is

  [[nodiscard]] bool exists() const { return kind != PathKind::DIS; }
};

// Paths through a GPU: NVLinks may pass one (NCCL_NVB_DISABLE says no).
enum class ThroughGpu { never, one };

// The routes from every node of `graph` to `base`. Cost: breadth-first, linear in edges.
[[nodiscard]] std::vector<Route> routes_to(const PathGraph& graph, int base, ThroughGpu through);

}  // namespace lockstep::topology
