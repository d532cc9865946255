#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

// Inputs: w, dw, `States` optimizer states, state, early, late (which may be absent). All but dw
// and the last three are written in place.
template <int States>
std::vector<OutputSpec> infer(const Graph& graph, const Node& node) {
  require(node.inputs.size() == States + 5, node,
          "needs weight, gradient, states, step state, early and late word");
  const Shape& w = graph.value(node.inputs[0]).shape;
  require(graph.value(node.inputs[1]).shape == w, node, "the gradient's shape differs");
  std::vector<OutputSpec> outputs{{"weight", w, DType::f32, Role::parameter, 0}};
  for (int i = 0; i < States; ++i) {
    outputs.push_back({"state" + std::to_string(i), w, DType::f32, Role::optimizer, 2 + i});
  }
  return outputs;
}

std::vector<OutputSpec> infer_clip_scale(const Graph&, const Node&) {
  return {{"late", {2}, DType::f64}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 6.0 * static_cast<double>(graph.value(node.inputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> optimizer_ops() {
  return {{.name = "sgd", .infer = infer<1>, .cost = cost},
          {.name = "adamw", .infer = infer<2>, .cost = cost},
          {.name = "clip_scale", .infer = infer_clip_scale, .cost = cost}};
}

}  // namespace lockstep::engine
