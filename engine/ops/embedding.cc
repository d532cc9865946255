// Tokens to rows of two tables: one by the token, one by its position in the window.
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

enum Input : std::size_t { kTokens, kTokenTable, kPositionTable };

std::vector<OutputSpec> infer_forward(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs tokens, a token table and a position table");
  const Value& tokens = graph.value(node.inputs[kTokens]);
  const Shape& table = graph.value(node.inputs[kTokenTable]).shape;
  const Shape& positions = graph.value(node.inputs[kPositionTable]).shape;
  require(tokens.dtype == DType::i32 && tokens.shape.rank() == 2, node,
          "tokens are i32, samples by context");
  require(table.rank() == 2 && positions.rank() == 2 && table[1] == positions[1], node,
          "both tables are matrices of the same width");
  require(positions[0] >= tokens.shape[1], node,
          "the context is longer than the position table has rows");
  return {{"out", {tokens.shape.elements(), table[1]}}};
}

void gradient(GradientContext& context) {
  const ValueId tokens = context.input(kTokens), dy = context.output_gradients[0];
  const Graph& graph = context.graph;
  if (context.wanted[kPositionTable]) {
    const std::int64_t rows = graph.value(context.input(kPositionTable)).shape[0];
    context.input_gradients[kPositionTable] =
        context.emit("embedding_backward_positions", "backward_positions", {tokens, dy},
                     {{"positions", rows}})[0];
  }
  if (context.wanted[kTokenTable]) {
    // A head that shares the table has its part first: the rows are added to it where it lies.
    const std::int64_t rows = graph.value(context.input(kTokenTable)).shape[0];
    const ValueId so_far = context.so_far[kTokenTable];
    context.input_gradients[kTokenTable] =
        context.emit("embedding_backward_tokens", "backward_tokens", {tokens, dy, so_far},
                     {{"vocabulary", rows}})[0];
    context.includes_so_far[kTokenTable] = so_far.valid();
  }
}

std::vector<OutputSpec> infer_positions(const Graph& graph, const Node& node) {
  return {
      {"table", {node.attributes.integer("positions"), graph.value(node.inputs.at(1)).shape[1]}}};
}

std::vector<OutputSpec> infer_tokens(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 3, node, "needs tokens, dy and the sum so far (may be absent)");
  OutputSpec table{"table",
                   {node.attributes.integer("vocabulary"), graph.value(node.inputs[1]).shape[1]}};
  if (node.inputs[2].valid()) {
    const Value& so_far = graph.value(node.inputs[2]);
    require(so_far.shape == table.shape && so_far.dtype == DType::f32, node,
            "the sum so far is f32, vocabulary by width");
    table.aliases_input = 2;
    table.role = so_far.role;
  }
  return {table};
}

// Rows of the batch, and of their width.
double row_bytes(const Graph& graph, ValueId rows) {
  return static_cast<double>(bytes_of(graph.value(rows)));
}

Cost cost_forward(const Graph& graph, const Node& node) {
  const auto elements = static_cast<double>(graph.value(node.outputs[0]).shape.elements());
  return {.flops = elements,
          .bytes = row_bytes(graph, node.outputs[0]) + 8 * elements +
                   row_bytes(graph, node.inputs[kTokens])};
}

Cost cost_positions(const Graph& graph, const Node& node) {
  return {.flops = static_cast<double>(graph.value(node.inputs[1]).shape.elements()),
          .bytes = bytes_touched(graph, node)};
}

// In place only the rows that occur are read and written, else the whole table is written.
Cost cost_tokens(const Graph& graph, const Node& node) {
  const auto elements = static_cast<double>(graph.value(node.inputs[1]).shape.elements());
  const double whole = node.inputs[2].valid() ? 0.0 : row_bytes(graph, node.outputs[0]);
  return {.flops = elements,
          .bytes = row_bytes(graph, node.inputs[0]) + row_bytes(graph, node.inputs[1]) +
                   8 * elements + whole};
}

}  // namespace

std::vector<OpDefinition> embedding_ops() {
  return {
      {.name = "embedding", .infer = infer_forward, .gradient = gradient, .cost = cost_forward},
      {.name = "embedding_backward_positions", .infer = infer_positions, .cost = cost_positions},
      {.name = "embedding_backward_tokens", .infer = infer_tokens, .cost = cost_tokens}};
}

}  // namespace lockstep::engine
