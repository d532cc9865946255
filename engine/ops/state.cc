#include "engine/device/step_state.h"
#include "engine/ops/ops.h"

namespace lockstep::engine {
namespace {

std::vector<OutputSpec> infer_state(const Graph& graph, const Node& node) {
  require(
      graph.value(node.inputs.at(0)).shape == Shape{static_cast<std::int64_t>(sizeof(StepState))},
      node, "input 0 is the step state");
  return {{"state", graph.value(node.inputs[0]).shape, DType::u8, Role::state, 0}};
}

std::vector<OutputSpec> infer_add_totals(const Graph& graph, const Node& node) {
  require(graph.value(node.inputs.at(0)).shape == Shape{3}, node,
          "totals are loss, weight, correct");
  return {{"step_totals", {3}, DType::f64, Role::state, 1}};
}

std::vector<OutputSpec> infer_control_word(const Graph&, const Node&) {
  return {{"early", {4}, DType::f64, Role::activation}};
}

Cost cost(const Graph& graph, const Node& node) {
  return {.flops = 0, .bytes = bytes_touched(graph, node)};
}

}  // namespace

std::vector<OpDefinition> state_ops() {
  return {{.name = "advance_state", .infer = infer_state, .cost = cost},
          {.name = "add_totals", .infer = infer_add_totals, .cost = cost},
          {.name = "control_word", .infer = infer_control_word, .cost = cost},
          {.name = "conclude_state", .infer = infer_state, .cost = cost}};
}

}  // namespace lockstep::engine
