#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::vector<OutputSpec> infer_flatten(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs.at(0)).shape;
  require(x.rank() == 4, node, "the image has four extents");
  return {{"out", {x[0], x[1] * x[2] * x[3]}, graph.value(node.inputs[0]).dtype}};
}

void gradient_flatten(GradientContext& context) {
  const Shape x = context.graph.value(context.input(0)).shape;
  context.input_gradients[0] =
      context.emit("unflatten", "backward", {context.output_gradients[0]},
                   {{"height", x[1]}, {"width", x[2]}, {"channels", x[3]}})[0];
}

std::vector<OutputSpec> infer_unflatten(const Graph& graph, const Node& node) {
  const Shape& dy = graph.value(node.inputs.at(0)).shape;
  Shape image{dy[0], node.attributes.integer("height"), node.attributes.integer("width"),
              node.attributes.integer("channels")};
  require(image.elements() == dy.elements(), node, "the extents do not multiply to the features");
  return {{"image", image, graph.value(node.inputs[0]).dtype}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 0, .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> flatten_ops() {
  return {{.name = "flatten",
           .precision = PrecisionClass::widest,
           .infer = infer_flatten,
           .gradient = gradient_flatten,
           .cost = cost},
          {.name = "unflatten",
           .precision = PrecisionClass::widest,
           .infer = infer_unflatten,
           .cost = cost}};
}

}  // namespace lockstep::engine
