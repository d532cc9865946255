#include "runtime/parallel/ops.h"

namespace lockstep::runtime::parallel {
namespace {

using engine::Cost;
using engine::DType;
using engine::Graph;
using engine::Node;
using engine::OutputSpec;

OutputSpec in_place(const Graph& graph, const Node& node, std::size_t input) {
  const engine::Value& value = graph.value(node.inputs[input]);
  return {"landed" + std::to_string(input), value.shape, value.dtype, value.role,
          static_cast<int>(input)};
}

// Inputs [from, from + count) come out again, in place.
std::vector<OutputSpec> range_in_place(const Graph& graph, const Node& node, std::int64_t from,
                                       std::int64_t count) {
  std::vector<OutputSpec> outputs;
  for (std::int64_t i = from; i < from + count; ++i) {
    outputs.push_back(in_place(graph, node, static_cast<std::size_t>(i)));
  }
  return outputs;
}

std::vector<OutputSpec> infer_all(const Graph& graph, const Node& node) {
  return range_in_place(graph, node, 0, static_cast<std::int64_t>(node.inputs.size()));
}

// A fused reduce_start and an update_start have w and states behind the gradients.
std::vector<OutputSpec> infer_bucket(const Graph& graph, const Node& node) {
  const std::int64_t parameters = node.attributes.integer("parameters");
  const std::int64_t states = node.attributes.integer("states");
  if (node.op == "reduce_start" && !node.attributes.integer("fused")) {
    return range_in_place(graph, node, 0, parameters);
  }
  return range_in_place(graph, node, parameters, parameters * (1 + states));
}

std::vector<OutputSpec> infer_late_word(const Graph&, const Node&) {
  return {{"late", {2}, DType::f64}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 0, .bytes = engine::bytes_touched(graph, node)};
}
Cost no_cost(const Graph&, const Node&) {
  return {};
}

}  // namespace

void add_ops(engine::OpTable& ops) {
  ops.add({.name = "early_word", .infer = infer_all, .cost = cost});
  ops.add({.name = "reduce_start", .infer = infer_bucket, .cost = cost});
  ops.add({.name = "update_start", .infer = infer_bucket, .cost = cost});
  ops.add({.name = "late_word", .infer = infer_late_word, .cost = cost});
  ops.add({.name = "reduce_wait", .infer = infer_all, .cost = no_cost});
  ops.add({.name = "all_reduce_statistics", .infer = infer_all, .cost = cost});
}

}  // namespace lockstep::runtime::parallel
