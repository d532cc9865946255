#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::vector<OutputSpec> infer_relu(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs.at(0));
  return {{"out", x.shape, x.dtype}};
}

void gradient_relu(GradientContext& context) {
  context.input_gradients[0] = context.emit(
      "relu_backward", "backward", {context.output(0), context.output_gradients[0]}, {})[0];
}

std::vector<OutputSpec> infer_pair(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 2, node, "needs two inputs");
  const Value& a = graph.value(node.inputs[0]);
  const Value& b = graph.value(node.inputs[1]);
  require(a.shape == b.shape, node, "the inputs' shapes differ");
  return {{"out", a.shape, a.dtype == DType::bf16 ? b.dtype : a.dtype}};
}

std::vector<OutputSpec> infer_accumulate(const Graph& graph, const Node& node) {
  auto outputs = infer_pair(graph, node);
  outputs[0].aliases_input = 0;
  outputs[0].role = graph.value(node.inputs[0]).role;
  return outputs;
}

void gradient_add(GradientContext& context) {
  context.input_gradients = {context.output_gradients[0], context.output_gradients[0]};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = static_cast<double>(graph.value(node.outputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> elementwise_ops() {
  constexpr PrecisionClass kWidest = PrecisionClass::widest;
  return {{.name = "relu",
           .precision = kWidest,
           .infer = infer_relu,
           .gradient = gradient_relu,
           .cost = cost,
           .in_place_input = 0},
          {.name = "relu_backward",
           .precision = kWidest,
           .infer = infer_pair,
           .cost = cost,
           .in_place_input = 1},
          {.name = "add",
           .precision = kWidest,
           .infer = infer_pair,
           .gradient = gradient_add,
           .cost = cost,
           .in_place_input = 0},
          {.name = "accumulate", .precision = kWidest, .infer = infer_accumulate, .cost = cost}};
}

}  // namespace lockstep::engine
