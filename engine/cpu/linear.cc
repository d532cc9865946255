#include "engine/cpu/operands.h"
#include "engine/cpu/product.h"

namespace lockstep::engine::cpu {
namespace {

ProductShape shape_of(const Operands& o, const Shape& batch, const Shape& weight) {
  const WeightLayout layout = weight_layout_of(o.node());
  const bool in_out = layout == WeightLayout::in_out;
  return {.rows = batch[0],
          .inputs = weight[in_out ? 0 : 1],
          .outputs = weight[in_out ? 1 : 0],
          .weight_layout = layout};
}

ProductForward forward(const Operands& o) {
  const ProductShape shape = shape_of(o, o.in_shape(0), o.in_shape(1));
  const bool relu = o.attributes().integer_or("relu", 0) != 0;
  return {.shape = shape,
          .arithmetic = arithmetic_of(o.node()),
          .activation = relu ? Activation::relu : Activation::none,
          .x = dense_rows(o.in(0), shape.inputs),
          .w = o.in(1).data,
          .bias = o.has_in(2) ? Bias::present : Bias::absent,
          .b = o.in(2).data,
          .y = dense_rows(o.out(0), shape.outputs)};
}

ProductBackwardWeights backward_weights(const Operands& o) {
  const ProductShape shape = shape_of(o, o.in_shape(0), o.out_shape(0));
  return {.shape = shape,
          .arithmetic = arithmetic_of(o.node()),
          .x = dense_rows(o.in(0), shape.inputs),
          .dy = dense_rows(o.in(1), shape.outputs),
          .dw = o.out(0).data,
          .db = o.out(1).data};
}

ProductBackwardData backward_data(const Operands& o) {
  const ProductShape shape = shape_of(o, o.in_shape(1), o.in_shape(0));
  return {.shape = shape,
          .arithmetic = arithmetic_of(o.node()),
          .w = o.in(0).data,
          .dy = dense_rows(o.in(1), shape.outputs),
          .dx = dense_rows(o.out(0), shape.inputs)};
}

// The definition of an op whose weight is input `weight`, or no input.
template <class Product>
KernelDefinition definition(const Context& context, std::string op,
                            Product (*product)(const Operands&), int weight) {
  auto bind = [context, product](const Binding& b) {
    return product_kernel(context, product(Operands(b)), b.workspace, b.node.name);
  };
  auto wishes = [context, product, weight](const Graph& graph, const Node& node) {
    const ProductWishes wanted = product_wishes(context, product(Operands(graph, node)));
    OperandWishes all{.workspace = wanted.workspace};
    if (weight >= 0) {
      all.inputs.resize(node.inputs.size());
      all.inputs[static_cast<std::size_t>(weight)] = wanted.weight;
    }
    return all;
  };
  return {.op = std::move(op), .bind = bind, .wishes = wishes};
}

}  // namespace

Family linear_kernels(const Context& context) {
  return {definition(context, "linear", forward, 1),
          definition(context, "linear_backward_weights", backward_weights, -1),
          definition(context, "linear_backward_data", backward_data, 0)};
}

}  // namespace lockstep::engine::cpu
