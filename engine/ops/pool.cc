#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::vector<OutputSpec> infer_max_pool(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  require(x.rank() == 4, node, "the image has four extents");
  const std::int64_t size = node.attributes.integer("size");
  const std::int64_t stride = node.attributes.integer("stride");
  const std::int64_t pad = node.attributes.integer_or("pad", 0);
  require(size >= 1 && size <= 15 && stride >= 1, node,
          "windows of 1 to 15, a stride of 1 or more");
  require(pad >= 0 && pad < size, node, "padding must be less than the window");
  require(x[1] + 2 * pad >= size && x[2] + 2 * pad >= size, node,
          "the window is larger than the padded image");
  const auto windows = [&](std::int64_t extent) { return (extent + 2 * pad - size) / stride + 1; };
  Shape out{x[0], windows(x[1]), windows(x[2]), x[3]};
  return {{"out", out, graph.value(node.inputs[0]).dtype}, {"index", out, DType::u8}};
}

void gradient_max_pool(GradientContext& context) {
  const Shape x = context.graph.value(context.input(0)).shape;
  const Attributes& forward = context.node.attributes;
  context.input_gradients[0] = context.emit("max_pool_backward", "backward",
                                            {context.output_gradients[0], context.output(1)},
                                            {{"size", forward.integer("size")},
                                             {"stride", forward.integer("stride")},
                                             {"pad", forward.integer_or("pad", 0)},
                                             {"height", x[1]},
                                             {"width", x[2]}})[0];
}

// Shape of the image whose pooled gradient is input 0.
std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  const Shape& dy = graph.value(node.inputs.at(0)).shape;
  return {{"image",
           {dy[0], node.attributes.integer("height"), node.attributes.integer("width"),
            dy[dy.rank() - 1]}}};
}

std::vector<OutputSpec> infer_average_pool(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  require(x.rank() == 4, node, "the image has four extents");
  return {{"out", {x[0], x[3]}}};
}

void gradient_average_pool(GradientContext& context) {
  const Shape x = context.graph.value(context.input(0)).shape;
  context.input_gradients[0] =
      context.emit("average_pool_backward", "backward", {context.output_gradients[0]},
                   {{"height", x[1]}, {"width", x[2]}})[0];
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 0, .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> pool_ops() {
  constexpr PrecisionClass kWidest = PrecisionClass::widest;
  return {
      {.name = "max_pool",
       .precision = kWidest,
       .infer = infer_max_pool,
       .gradient = gradient_max_pool,
       .cost = cost},
      {.name = "max_pool_backward", .precision = kWidest, .infer = infer_backward, .cost = cost},
      {.name = "average_pool",
       .precision = kWidest,
       .infer = infer_average_pool,
       .gradient = gradient_average_pool,
       .cost = cost},
      {.name = "average_pool_backward",
       .precision = kWidest,
       .infer = infer_backward,
       .cost = cost}};
}

}  // namespace lockstep::engine
