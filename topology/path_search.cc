#include "topology/path_search.h"

#include <algorithm>
#include <utility>

#include "topology/bandwidth.h"

namespace lockstep::topology {
namespace {

using NodeKind = PathGraph::NodeKind;

// What the link adds to the kind of a route that has come as far as `node`.
PathKind step_kind(const PathGraph::Edge& edge, NodeKind node, NodeKind next) {
  if (node == NodeKind::pcie_switch && next == NodeKind::pcie_switch) return PathKind::PXB;
  if (edge.kind == PathKind::PIX && (node == NodeKind::numa || next == NodeKind::numa))
    return PathKind::PHB;
  return edge.kind;
}

}  // namespace

std::vector<Route> routes_to(const PathGraph& graph, int base, ThroughGpu through) {
  std::vector<Route> routes(graph.nodes.size());
  std::vector<char> is_next(graph.nodes.size(), 0);
  const auto node_at = [&graph](int i) -> const PathGraph::Node& {
    return graph.nodes[static_cast<std::size_t>(i)];
  };
  routes[static_cast<std::size_t>(base)] = {
      .hops = 0, .kind = PathKind::LOC, .GBps = kLocalGBps, .known = true};
  std::vector<int> now{base}, next;
  while (!now.empty()) {
    next.clear();
    for (const int at : now) {
      is_next[static_cast<std::size_t>(at)] = 0;
      const Route route = routes[static_cast<std::size_t>(at)];
      const NodeKind kind = node_at(at).kind;
      for (const PathGraph::Edge& edge : node_at(at).edges) {
        const NodeKind beyond = node_at(edge.to).kind;
        const bool through_gpu = at != base && kind == NodeKind::gpu;
        if (through_gpu && (through == ThroughGpu::never || edge.kind != PathKind::NVL ||
                            beyond != NodeKind::gpu || route.hops > 1))
          continue;
        Route& other = routes[static_cast<std::size_t>(edge.to)];
        const double GBps = std::min(route.GBps, edge.GBps);
        if ((other.GBps != 0 && other.hops <= route.hops) || other.GBps >= GBps) continue;
        PathKind step = step_kind(edge, kind, beyond);
        if (through_gpu && route.kind == PathKind::NVL && step == PathKind::NVL)
          step = PathKind::NVB;
        other = {.hops = route.hops + 1,
                 .kind = std::max(route.kind, step),
                 .GBps = GBps,
                 .known = route.known && edge.known};
        if (is_next[static_cast<std::size_t>(edge.to)] == 0) {
          is_next[static_cast<std::size_t>(edge.to)] = 1;
          next.push_back(edge.to);
        }
      }
    }
    std::swap(now, next);
  }
  return routes;
}

}  // namespace lockstep::topology
