#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Input : std::size_t { kLogits, kLabels, kWeights, kState };

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 4, node, "needs logits, labels, weights and state");
  const Shape& logits = graph.value(node.inputs[kLogits]).shape;
  require(logits.rank() == 2, node, "logits are labels by classes");
  require(graph.value(node.inputs[kLabels]).dtype == DType::i32 &&
              graph.value(node.inputs[kLabels]).shape == Shape{logits[0]},
          node, "one i32 label a row of logits");
  const Shape& weights = graph.value(node.inputs[kWeights]).shape;
  require(weights.rank() == 1 && weights[0] > 0 && logits[0] % weights[0] == 0, node,
          "one weight a sample, and as many labels for each");
  return {{"totals", {3}, DType::f64}, {.suffix = "lse", .shape = {logits[0]}, .exact = true}};
}

// The loss is where differentiation begins: its own gradient is one.
void gradient(GradientContext& context) {
  const Node& node = context.node;
  context.input_gradients[kLogits] =
      context.emit("softmax_cross_entropy_backward", "backward",
                   {node.inputs[kLogits], node.outputs[1], node.inputs[kLabels],
                    node.inputs[kWeights], node.inputs[kState]},
                   {})[0];
}

std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  const Value& logits = graph.value(node.inputs.at(0));
  return {{"logits", logits.shape, logits.dtype}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 4.0 * static_cast<double>(graph.value(node.inputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> loss_ops() {
  return {
      {.name = "softmax_cross_entropy", .infer = infer_forward, .gradient = gradient, .cost = cost},
      {.name = "softmax_cross_entropy_backward",
       .infer = infer_backward,
       .cost = cost,
       .in_place_input = 0}};
}

}  // namespace lockstep::engine
