// Layer normalisation (Ba, Kiros, Hinton 2016) over a matrix's rows, with the residual addition
// before it where there is one.
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Forward : std::size_t { kX, kResidual, kGamma, kBeta };
enum Output : std::size_t { kOut, kStatistics, kSum };

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 4, node, "needs x, residual (which may be absent), gamma and beta");
  const Shape& x = graph.value(node.inputs[kX]).shape;
  require(x.rank() == 2, node, "x is a matrix");
  require(graph.value(node.inputs[kGamma]).shape == Shape{x[1]} &&
              graph.value(node.inputs[kBeta]).shape == Shape{x[1]},
          node, "one gamma and one beta a column");
  std::vector<OutputSpec> outputs{{"out", x},
                                  {.suffix = "statistics", .shape = {x[0], 2}, .exact = true}};
  if (node.inputs[kResidual].valid()) {
    require(graph.value(node.inputs[kResidual]).shape == x, node, "the residual's shape differs");
    outputs.push_back({"sum", x});
  }
  return outputs;
}

void gradient(GradientContext& context) {
  const Node& node = context.node;
  const bool residual = node.inputs[kResidual].valid();
  const ValueId dy = context.output_gradients[kOut];
  ValueId dx;
  if (dy.valid()) {
    // Of the value that is normalised: from those that read it beside this node.
    const ValueId more = residual ? context.output_gradients[kSum] : context.so_far[kX];
    auto gradients = context.emit("layer_norm_backward", "backward",
                                  {residual ? node.outputs[kSum] : node.inputs[kX],
                                   node.outputs[kStatistics], node.inputs[kGamma], dy, more},
                                  {});
    dx = gradients[0];
    context.input_gradients[kGamma] = gradients[1];
    context.input_gradients[kBeta] = gradients[2];
    context.includes_so_far[kX] = !residual && more.valid();
  } else if (residual) {
    dx = context.output_gradients[kSum];
  }
  context.input_gradients[kX] = dx;
  if (residual) context.input_gradients[kResidual] = dx;
}

std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 5, node,
          "needs x, statistics, gamma, dy and a further gradient (which may be absent)");
  const Value& x = graph.value(node.inputs[0]);
  const Shape columns{x.shape[1]};
  return {{"input", x.shape, x.dtype}, {"gamma", columns}, {"beta", columns}};
}

template <int OperationsAnElement>
Cost cost(const Graph& graph, const Node& node) {
  return {.flops = OperationsAnElement *
                   static_cast<double>(graph.value(node.outputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> layer_norm_ops() {
  return {{.name = "layer_norm",
           .infer = infer_forward,
           .gradient = gradient,
           .cost = cost<8>,
           .in_place_input = kX},
          {.name = "layer_norm_backward",
           .infer = infer_backward,
           .cost = cost<15>,
           .in_place_input = 4}};
}

}  // namespace lockstep::engine
