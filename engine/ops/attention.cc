// Causal attention of several heads over one matrix of queries, keys and values. The probabilities
// are never in memory: the backward pass makes them again from the rows' log of summed exponentials
// (Dao et al., "FlashAttention", 2022).
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Forward : std::size_t { kQkv, kRows, kState };

void require_qkv(const Graph& graph, const Node& node) {
  const Shape& qkv = graph.value(node.inputs.at(kQkv)).shape;
  const std::int64_t heads = node.attributes.integer("heads");
  const std::int64_t context = node.attributes.integer("context");
  require(qkv.rank() == 2 && heads > 0 && qkv[1] % (3 * heads) == 0, node,
          "qkv is a matrix of three equal parts, each of which the heads divide");
  require(context > 0 && qkv[0] % context == 0, node, "the context divides the rows");
}

void require_random(const Graph& graph, const Node& node, std::size_t rows) {
  const double dropout = node.attributes.real("dropout");
  require(dropout >= 0 && dropout < 1, node, "dropout is at least 0, below 1");
  if (dropout == 0) return;
  require(node.inputs.at(rows).valid() && node.inputs.at(rows + 1).valid(), node,
          "dropout needs the samples' rows and the state");
  const Value& value = graph.value(node.inputs[rows]);
  const std::int64_t samples =
      graph.value(node.inputs[kQkv]).shape[0] / node.attributes.integer("context");
  require(value.dtype == DType::i32 && value.shape == Shape{samples}, node, "one i32 row a sample");
  require(node.attributes.integer("stream") >= 0, node, "the stream is not negative");
}

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs qkv, rows and state (which may be absent)");
  require_qkv(graph, node);
  require_random(graph, node, kRows);
  const Value& qkv = graph.value(node.inputs[kQkv]);
  const std::int64_t context = node.attributes.integer("context");
  return {{"out", {qkv.shape[0], qkv.shape[1] / 3}},
          {.suffix = "lse",
           .shape = {qkv.shape[0] / context, node.attributes.integer("heads"), context},
           .exact = true}};
}

void gradient(GradientContext& context) {
  context.input_gradients[kQkv] =
      context.emit("attention_backward", "backward",
                   {context.input(kQkv), context.output(0), context.output(1),
                    context.output_gradients[0], context.input(kRows), context.input(kState)},
                   context.node.attributes)[0];
}

std::vector<OutputSpec> infer_backward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 6, node, "needs qkv, out, lse, dout, rows and state");
  require_qkv(graph, node);
  require_random(graph, node, 4);
  const Value& qkv = graph.value(node.inputs[0]);
  return {{"qkv", qkv.shape, qkv.dtype}};
}

// Two products of the causal half forward, five backward; each pair of a query and a key at or
// before it has 2 * (width of a head) operations in each.
template <int Products>
Cost cost(const Graph& graph, const Node& node) {
  const Shape& qkv = graph.value(node.inputs[kQkv]).shape;
  const auto context = static_cast<double>(node.attributes.integer("context"));
  const double pairs = static_cast<double>(qkv[0]) * (context + 1) / 2;
  return {.flops = Products * 2.0 * pairs * static_cast<double>(qkv[1] / 3),
          .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> attention_ops() {
  return {{.name = "attention",
           .precision = PrecisionClass::low,
           .infer = infer_forward,
           .gradient = gradient,
           .cost = cost<2>},
          {.name = "attention_backward",
           .precision = PrecisionClass::low,
           .infer = infer_backward,
           .cost = cost<5>,
           .in_place_input = kQkv}};
}

}  // namespace lockstep::engine
