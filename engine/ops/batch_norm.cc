// Batch normalisation (Ioffe and Szegedy 2015), in two halves so that the statistics between them
// can be summed over workers: statistics are plain sums in double precision, over samples of weight
// 1 only.
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Forward : std::size_t { kX, kStatistics, kGamma, kBeta, kResidual, kWeights };

std::int64_t channels(const Graph& graph, ValueId image) {
  return graph.value(image).shape[3];
}

std::vector<OutputSpec> infer_statistics(const Graph& graph, const Node& node) {
  require(graph.value(node.inputs.at(0)).shape.rank() == 4, node, "the image has four extents");
  return {{"statistics", {2 * channels(graph, node.inputs[0]) + 1}, DType::f64}};
}

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 6, node,
          "needs image, statistics, gamma, beta, residual (which may be absent) and weights");
  const Shape& x = graph.value(node.inputs[kX]).shape;
  require(graph.value(node.inputs[kGamma]).shape == Shape{x[3]} &&
              graph.value(node.inputs[kBeta]).shape == Shape{x[3]},
          node, "one gamma and one beta a channel");
  if (node.inputs[kResidual].valid()) {
    require(graph.value(node.inputs[kResidual]).shape == x, node, "the residual's shape differs");
  }
  return {{"out", x}};
}

void gradient(GradientContext& context) {
  const Node& node = context.node;
  const ValueId dy = context.output_gradients[0];
  const bool residual = node.inputs[kResidual].valid();
  Attributes attributes = node.attributes;
  // Of y only the relu's decision is needed.
  const ValueId y = attributes.integer_or("relu", 0) != 0 ? node.outputs[0] : ValueId{};
  const ValueId sums = context.emit(
      "batch_norm_backward_statistics", "backward_statistics",
      {node.inputs[kX], node.inputs[kStatistics], dy, y, node.inputs[kWeights]}, attributes)[0];
  auto parameters =
      context.emit("batch_norm_parameter_gradients", "parameter_gradients", {sums}, {});
  context.input_gradients[kGamma] = parameters[0];
  context.input_gradients[kBeta] = parameters[1];
  attributes.set("residual", std::int64_t{residual});
  auto images = context.emit("batch_norm_backward", "backward",
                             {node.inputs[kX], node.inputs[kStatistics], node.inputs[kGamma], sums,
                              dy, y, node.inputs[kWeights]},
                             attributes);
  context.input_gradients[kX] = images[0];
  if (residual) context.input_gradients[kResidual] = images[1];
}

std::vector<OutputSpec> infer_backward_statistics(const Graph& graph, const Node& node) {
  return {{"sums", {2 * channels(graph, node.inputs.at(0))}, DType::f64}};
}

std::vector<OutputSpec> infer_parameter_gradients(const Graph& graph, const Node& node) {
  const std::int64_t c = graph.value(node.inputs.at(0)).shape[0] / 2;
  return {{"gamma", {c}}, {"beta", {c}}};
}

std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  std::vector<OutputSpec> outputs{{"image", x}};
  if (node.attributes.integer("residual")) outputs.push_back({"residual", x});
  return outputs;
}

std::vector<OutputSpec> infer_inference(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 6, node,
          "needs image, gamma, beta, mean, variance and residual (which may be absent)");
  return {{"out", graph.value(node.inputs[0]).shape}};
}

std::vector<OutputSpec> infer_running(const Graph& graph, const Node& node) {
  const Shape& mean = graph.value(node.inputs.at(1)).shape;
  return {{"mean", mean, DType::f32, Role::buffer, 1},
          {"variance", mean, DType::f32, Role::buffer, 2}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 5.0 * static_cast<double>(graph.value(node.inputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> batch_norm_ops() {
  // Images are stored as their readers want them; sums are double and tables float all the same.
  constexpr PrecisionClass kWidest = PrecisionClass::widest;
  return {
      {.name = "batch_norm_statistics", .infer = infer_statistics, .cost = cost},
      {.name = "batch_norm",
       .precision = kWidest,
       .infer = infer_forward,
       .gradient = gradient,
       .cost = cost},
      {.name = "batch_norm_backward_statistics", .infer = infer_backward_statistics, .cost = cost},
      {.name = "batch_norm_parameter_gradients", .infer = infer_parameter_gradients, .cost = cost},
      {.name = "batch_norm_backward",
       .precision = kWidest,
       .infer = infer_backward,
       .cost = cost,
       .in_place_input = 4},
      {.name = "batch_norm_inference",
       .precision = kWidest,
       .infer = infer_inference,
       .cost = cost,
       .in_place_input = 0},
      {.name = "running_statistics", .infer = infer_running, .cost = cost}};
}

}  // namespace lockstep::engine
