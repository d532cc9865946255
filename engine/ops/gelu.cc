// x times the normal distribution's share below x (Hendrycks and Gimpel 2016), exactly or by the
// tanh that GPT-2 uses for it.
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

void require_approximation(const Node& node) {
  const std::string& approximation = node.attributes.text("approximation");
  require(approximation == "tanh" || approximation == "none", node,
          "approximation is \"tanh\" or \"none\"");
}

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require_approximation(node);
  const Value& x = graph.value(node.inputs.at(0));
  return {{"out", x.shape, x.dtype}};
}

void gradient(GradientContext& context) {
  context.input_gradients[0] =
      context.emit("gelu_backward", "backward", {context.input(0), context.output_gradients[0]},
                   context.node.attributes)[0];
}

std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  require_approximation(node);
  const Value& x = graph.value(node.inputs.at(0));
  require(graph.value(node.inputs.at(1)).shape == x.shape, node, "the shapes of x and dy differ");
  return {{"input", x.shape, x.dtype}};
}

template <int OperationsAnElement>
Cost cost(const Graph& graph, const Node& node) {
  return {.flops = OperationsAnElement *
                   static_cast<double>(graph.value(node.outputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> gelu_ops() {
  return {{.name = "gelu",
           .precision = PrecisionClass::widest,
           .infer = infer_forward,
           .gradient = gradient,
           .cost = cost<20>,
           .in_place_input = 0},
          {.name = "gelu_backward",
           .precision = PrecisionClass::widest,
           .infer = infer_backward,
           .cost = cost<30>,
           .in_place_input = 1}};
}

}  // namespace lockstep::engine
