// Dropout (Srivastava et al. 2014) by counter-based random numbers: the gradient draws the same
// ones again, so there is no mask in memory.
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Input : std::size_t { kX, kRows, kState };

std::vector<OutputSpec> infer(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs x, the samples' rows and the state");
  const Value& x = graph.value(node.inputs[kX]);
  const Value& rows = graph.value(node.inputs[kRows]);
  require(x.shape.rank() == 2 && rows.shape.rank() == 1 && rows.dtype == DType::i32 &&
              x.shape[0] % rows.shape[0] == 0,
          node, "x is a matrix with as many rows for each i32 sample row");
  const double probability = node.attributes.real("probability");
  require(probability >= 0 && probability < 1, node, "the probability is at least 0, below 1");
  require(node.attributes.integer("stream") >= 0, node, "the stream is not negative");
  return {{"out", x.shape, x.dtype}};
}

void gradient(GradientContext& context) {
  context.input_gradients[kX] =
      context.emit("dropout", "backward",
                   {context.output_gradients[0], context.input(kRows), context.input(kState)},
                   context.node.attributes)[0];
}

// A Philox block, some 100 operations, serves four elements.
Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 25.0 * static_cast<double>(graph.value(node.outputs[0]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> dropout_ops() {
  return {{.name = "dropout",
           .precision = PrecisionClass::widest,
           .infer = infer,
           .gradient = gradient,
           .cost = cost,
           .in_place_input = kX}};
}

}  // namespace lockstep::engine
