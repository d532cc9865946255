#include "engine/cpu/product.h"

namespace lockstep::engine::cpu {
namespace {

// Shape of a product from its batch side and its weight.
ProductShape shape_of(const Shape& batch, const Shape& weight) {
  return {.rows = batch[0], .inputs = weight[1], .outputs = weight[0]};
}

}  // namespace

Family linear_kernels(const Context& context) {
  // Which operands are the batch and the weight: inputs, but for the weight's gradient.
  auto forward_shape = [](const Graph& graph, const Node& node) {
    return shape_of(graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape);
  };
  auto weights_shape = [](const Graph& graph, const Node& node) {
    return shape_of(graph.value(node.inputs[0]).shape, graph.value(node.outputs[0]).shape);
  };
  auto data_shape = [](const Graph& graph, const Node& node) {
    return shape_of(graph.value(node.inputs[1]).shape, graph.value(node.inputs[0]).shape);
  };
  auto wishes = [context](auto shape) {
    return [context, shape](const Graph& graph, const Node& node) {
      return OperandWishes{.workspace = product_workspace(context, shape(graph, node))};
    };
  };
  auto forward = [context, forward_shape](const Binding& b) {
    const bool relu = b.node.attributes.integer_or("relu", 0) != 0;
    return product_forward(context,
                           {.shape = forward_shape(b.graph, b.node),
                            .activation = relu ? Activation::relu : Activation::none,
                            .x = b.in<float>(0),
                            .w = b.in<float>(1),
                            .b = b.in<float>(2),
                            .y = b.out<float>(0)},
                           b.workspace, b.node.name);
  };
  auto backward_weights = [context, weights_shape](const Binding& b) {
    return product_backward_weights(context,
                                    {.shape = weights_shape(b.graph, b.node),
                                     .x = b.in<float>(0),
                                     .dy = b.in<float>(1),
                                     .dw = b.out<float>(0),
                                     .db = b.outputs.size() > 1 ? b.out<float>(1) : nullptr},
                                    b.workspace, b.node.name);
  };
  auto backward_data = [context, data_shape](const Binding& b) {
    return product_backward_data(context,
                                 {.shape = data_shape(b.graph, b.node),
                                  .w = b.in<float>(0),
                                  .dy = b.in<float>(1),
                                  .dx = b.out<float>(0)},
                                 b.workspace, b.node.name);
  };
  return {
      {.op = "linear", .bind = forward, .wishes = wishes(forward_shape)},
      {.op = "linear_backward_weights", .bind = backward_weights, .wishes = wishes(weights_shape)},
      {.op = "linear_backward_data", .bind = backward_data, .wishes = wishes(data_shape)}};
}

}  // namespace lockstep::engine::cpu
