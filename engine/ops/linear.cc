#include "engine/ops/linear.h"

#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs input, weight and bias (which may be absent)");
  const Shape& x = graph.value(node.inputs[0]).shape;
  const Shape& w = graph.value(node.inputs[1]).shape;
  require(x.rank() == 2 && w.rank() == 2, node, "input and weight are matrices");
  const bool in_out = weight_layout_of(node) == WeightLayout::in_out;
  const std::int64_t inputs = w[in_out ? 0 : 1], outputs = w[in_out ? 1 : 0];
  require(x[1] == inputs, node, "the input's features differ from the weight's inputs");
  if (node.inputs[2].valid()) {
    require(graph.value(node.inputs[2]).shape == Shape{outputs}, node, "one bias an output");
  }
  return {{"out", {x[0], outputs}}};
}

// What the backward ops take over from the forward one, and their own.
Attributes with_layout(const Node& forward, Attributes attributes) {
  if (forward.attributes.has("weight_layout")) {
    attributes.set("weight_layout", forward.attributes.text("weight_layout"));
  }
  return attributes;
}

void gradient(GradientContext& context) {
  ValueId dy = context.output_gradients[0];
  if (context.node.attributes.integer_or("relu", 0)) {
    dy = context.emit("relu_backward", "relu_backward", {context.output(0), dy}, {})[0];
  }
  const bool bias = context.input(2).valid();
  if (context.wanted[1]) {
    auto gradients =
        context.emit("linear_backward_weights", "backward_weights", {context.input(0), dy},
                     with_layout(context.node, {{"bias", std::int64_t{bias}}}));
    context.input_gradients[1] = gradients[0];
    if (bias) context.input_gradients[2] = gradients[1];
  }
  if (context.wanted[0]) {
    context.input_gradients[0] =
        context.emit("linear_backward_data", "backward_data", {context.input(1), dy},
                     with_layout(context.node, {}))[0];
  }
}

std::vector<OutputSpec> infer_backward_weights(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  const Shape& dy = graph.value(node.inputs.at(1)).shape;
  const bool in_out = weight_layout_of(node) == WeightLayout::in_out;
  std::vector<OutputSpec> outputs{{"weight", in_out ? Shape{x[1], dy[1]} : Shape{dy[1], x[1]}}};
  if (node.attributes.integer("bias")) outputs.push_back({"bias", {dy[1]}});
  return outputs;
}

std::vector<OutputSpec> infer_backward_data(const Graph& graph, const Node& node) {
  const Shape& w = graph.value(node.inputs.at(0)).shape;
  const Shape& dy = graph.value(node.inputs.at(1)).shape;
  return {{"input", {dy[0], w[weight_layout_of(node) == WeightLayout::in_out ? 0 : 1]}}};
}

// A product of (m x k) and (k x n), in any of the three passes, has 2*m*k*n operations.
template <int Matrix, bool IsOutput>
Cost cost(const Graph& graph, const Node& node) {
  // Rows of the batch times the weight's elements.
  const Shape& w = graph.value(IsOutput ? node.outputs[0] : node.inputs[Matrix]).shape;
  const Shape& batch = graph.value(node.inputs[IsOutput ? 1 : 1 - Matrix]).shape;
  return {.flops = 2.0 * static_cast<double>(batch[0] * w.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

WeightLayout weight_layout_of(const Node& node) {
  if (!node.attributes.has("weight_layout")) return WeightLayout::out_in;
  const std::string& text = node.attributes.text("weight_layout");
  require(text == "out_in" || text == "in_out", node,
          "weight_layout is \"" + text + "\"; it may be \"out_in\" or \"in_out\"");
  return text == "in_out" ? WeightLayout::in_out : WeightLayout::out_in;
}

std::vector<OpDefinition> linear_ops() {
  return {{.name = "linear",
           .precision = PrecisionClass::low,
           .infer = infer_forward,
           .gradient = gradient,
           .cost = cost<1, false>},
          {.name = "linear_backward_weights",
           .precision = PrecisionClass::low,
           .infer = infer_backward_weights,
           .cost = cost<0, true>},
          {.name = "linear_backward_data",
           .precision = PrecisionClass::low,
           .infer = infer_backward_data,
           .cost = cost<0, false>}};
}

}  // namespace lockstep::engine
