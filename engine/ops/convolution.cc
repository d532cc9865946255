#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::int64_t convolved(std::int64_t extent, std::int64_t kernel, const Node& node) {
  const std::int64_t stride = node.attributes.integer("stride");
  const std::int64_t padded = extent + 2 * node.attributes.integer("pad");
  require(stride >= 1, node, "stride must be at least 1");
  require(padded >= kernel, node, "the kernel is larger than the padded image");
  return (padded - kernel) / stride + 1;
}

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs image, weight and bias (which may be absent)");
  const Shape& x = graph.value(node.inputs[0]).shape;
  const Shape& w = graph.value(node.inputs[1]).shape;
  require(x.rank() == 4 && w.rank() == 4, node, "image and weight have four extents");
  require(x[3] == w[1], node, "the image's channels differ from the weight's inputs");
  if (node.inputs[2].valid()) {
    require(graph.value(node.inputs[2]).shape == Shape{w[0]}, node, "one bias an output channel");
  }
  return {{"out", {x[0], convolved(x[1], w[2], node), convolved(x[2], w[3], node), w[0]}}};
}

void gradient(GradientContext& context) {
  Graph& graph = context.graph;
  const Shape x = graph.value(context.input(0)).shape;
  const Shape w = graph.value(context.input(1)).shape;
  const ValueId dy = context.output_gradients[0];
  const Attributes& forward = context.node.attributes;
  const bool bias = context.input(2).valid();
  if (context.wanted[1]) {
    auto gradients =
        context.emit("conv2d_backward_weights", "backward_weights", {context.input(0), dy},
                     {{"stride", forward.integer("stride")},
                      {"pad", forward.integer("pad")},
                      {"kernel_h", w[2]},
                      {"kernel_w", w[3]},
                      {"bias", std::int64_t{bias}}});
    context.input_gradients[1] = gradients[0];
    if (bias) context.input_gradients[2] = gradients[1];
  }
  if (context.wanted[0]) {
    context.input_gradients[0] =
        context.emit("conv2d_backward_data", "backward_data", {context.input(1), dy},
                     {{"stride", forward.integer("stride")},
                      {"pad", forward.integer("pad")},
                      {"height", x[1]},
                      {"width", x[2]}})[0];
  }
}

std::vector<OutputSpec> infer_backward_weights(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  const Shape& dy = graph.value(node.inputs.at(1)).shape;
  const std::int64_t kernel_h = node.attributes.integer("kernel_h");
  const std::int64_t kernel_w = node.attributes.integer("kernel_w");
  std::vector<OutputSpec> outputs{{"weight", {dy[3], x[3], kernel_h, kernel_w}}};
  if (node.attributes.integer("bias")) outputs.push_back({"bias", {dy[3]}});
  return outputs;
}

std::vector<OutputSpec> infer_backward_data(const Graph& graph, const Node& node) {
  const Shape& w = graph.value(node.inputs.at(0)).shape;
  const Shape& dy = graph.value(node.inputs.at(1)).shape;
  return {{"image",
           {dy[0], node.attributes.integer("height"), node.attributes.integer("width"), w[1]}}};
}

// All three passes multiply each output pixel with each weight once.
Cost cost_of(const Graph& graph, const Node& node, const Shape& y, const Shape& w) {
  return {.flops = 2.0 * static_cast<double>(y[0] * y[1] * y[2] * w.elements()),
          .bytes = bytes_touched(graph, node)};
}

Cost cost_forward(const Graph& graph, const Node& node) {
  return cost_of(graph, node, graph.value(node.outputs[0]).shape,
                 graph.value(node.inputs[1]).shape);
}
Cost cost_backward_weights(const Graph& graph, const Node& node) {
  return cost_of(graph, node, graph.value(node.inputs[1]).shape,
                 graph.value(node.outputs[0]).shape);
}
Cost cost_backward_data(const Graph& graph, const Node& node) {
  return cost_of(graph, node, graph.value(node.inputs[1]).shape, graph.value(node.inputs[0]).shape);
}

}  // namespace

std::vector<OpDefinition> convolution_ops() {
  return {{.name = "conv2d",
           .precision = PrecisionClass::low,
           .infer = infer_forward,
           .gradient = gradient,
           .cost = cost_forward},
          {.name = "conv2d_backward_weights",
           .precision = PrecisionClass::low,
           .infer = infer_backward_weights,
           .cost = cost_backward_weights},
          {.name = "conv2d_backward_data",
           .precision = PrecisionClass::low,
           .infer = infer_backward_data,
           .cost = cost_backward_data}};
}

}  // namespace lockstep::engine
