#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

// The same elements; the layout pass sets the output's layout and role.
std::vector<OutputSpec> infer(const Graph& graph, const Node& node) {
  return {{"reordered", graph.value(node.inputs.at(0)).shape, graph.value(node.inputs[0]).dtype}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 0, .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> reorder_ops() {
  return {{.name = "reorder", .precision = PrecisionClass::widest, .infer = infer, .cost = cost}};
}

}  // namespace lockstep::engine
