#include <algorithm>
#include <set>

#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// Nodes whose work reaches a result of the graph or something that outlives the step.
std::vector<Node> needed_nodes(const Graph& graph) {
  std::set<ValueId> needed;
  for (const auto& [name, id] : graph.results()) needed.insert(id);
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) {
      return needed.contains(id) || persistent(graph.value(graph.storage_of(id)).role);
    });
    if (!used) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(*node);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

Graph schedule(Graph graph, const OpTable&) {
  std::vector<Node> nodes = needed_nodes(graph);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.phase < b.phase; });
  graph.set_nodes(std::move(nodes));
  return graph;
}

}  // namespace lockstep::engine
