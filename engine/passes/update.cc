#include <algorithm>
#include <set>

#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// Of each parameter: the value that no other gradient goes on from in place.
std::vector<ValueId> complete_gradients(const Graph& graph) {
  std::vector<ValueId> all = graph.values_of(Role::gradient);
  std::set<ValueId> continued;
  for (ValueId id : all) continued.insert(graph.value(id).alias_of);
  std::erase_if(all, [&](ValueId id) { return continued.contains(id); });
  return all;
}

// In all but the first micro-step a gradient is new work added to what lies in the bucket already,
// right after it was computed, so that its reduction can start as early as in the first.
void accumulate_gradients(Graph& graph, const OpTable& ops) {
  std::vector<Node> order = graph.nodes();
  for (ValueId id : complete_gradients(graph)) {
    const Value now = graph.value(id);
    graph.value(id).name = now.name + ".micro";
    for (ValueId part = id; part.valid(); part = graph.value(part).alias_of) {
      graph.value(part).role = Role::activation;
      graph.value(part).of = {};
    }
    const ValueId before = graph.add_value({.name = now.name,
                                            .dtype = now.dtype,
                                            .shape = now.shape,
                                            .role = Role::gradient,
                                            .of = now.of});
    const ValueId sum = emit(graph, ops,
                             {.op = "accumulate",
                              .name = now.name + ".accumulate",
                              .inputs = {before, id},
                              .outputs = {},
                              .phase = Phase::backward})[0];
    graph.value(sum).name = now.name + ".sum";
    graph.value(sum).of = now.of;
    const auto producer = std::find_if(order.begin(), order.end(), [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
    });
    order.insert(producer + 1, graph.nodes().back());
  }
  graph.set_nodes(std::move(order));
}

Attributes attributes_of(const OptimizerOptions& options, const Shape& parameter) {
  const bool decays = options.decay_on == DecayOn::all || parameter.rank() >= 2;
  Attributes attributes{{"weight_decay", decays ? options.weight_decay : 0.0}};
  if (options.kind == OptimizerKind::sgd) {
    attributes.set("momentum", options.momentum);
    attributes.set("nesterov", std::int64_t{options.nesterov});
  } else {
    attributes.set("beta1", options.beta1);
    attributes.set("beta2", options.beta2);
    attributes.set("epsilon", options.epsilon);
  }
  return attributes;
}

void add_optimizer(Graph& graph, const OpTable& ops, const OptimizerOptions& options,
                   ValueId early) {
  const ValueId state = graph.result("state");
  const std::vector<ValueId> gradients = complete_gradients(graph);
  ValueId late;
  if (options.clip_norm) {
    late = emit(graph, ops,
                {.op = "clip_scale",
                 .name = "clip",
                 .inputs = gradients,
                 .outputs = {},
                 .attributes = {{"clip_norm", *options.clip_norm}},
                 .phase = Phase::update})[0];
    graph.value(late).name = "late";
  }
  const int states = options.kind == OptimizerKind::sgd ? 1 : 2;
  for (ValueId gradient : gradients) {
    const ValueId parameter = graph.value(gradient).of;
    const Value weight = graph.value(parameter);
    Node node{.op = options.kind == OptimizerKind::sgd ? "sgd" : "adamw",
              .name = weight.name + ".update",
              .inputs = {parameter, gradient},
              .outputs = {},
              .attributes = attributes_of(options, weight.shape),
              .phase = Phase::update};
    for (int part = 0; part < states; ++part) {
      node.inputs.push_back(graph.add_value({.name = weight.name + (states == 1 ? ".momentum"
                                                                    : part == 0 ? ".m"
                                                                                : ".v"),
                                             .shape = weight.shape,
                                             .role = Role::optimizer,
                                             .of = parameter,
                                             .part = part}));
    }
    node.inputs.insert(node.inputs.end(), {state, early, late});
    const std::vector<ValueId> updated = emit(graph, ops, std::move(node));
    graph.value(updated[0]).name = weight.name + ".new";
    graph.value(updated[0]).of = parameter;
    for (std::size_t part = 1; part < updated.size(); ++part)
      graph.value(updated[part]).of = parameter;
  }
  Node conclude{.op = "conclude_state",
                .name = "conclude",
                .inputs = {state, early, late},
                .outputs = {},
                .phase = Phase::update};
  graph.set_result("state", emit(graph, ops, std::move(conclude))[0]);
}

// The model built them without knowing whether the step is applied; now they wait for the early
// word.
void predicate_running_statistics(Graph& graph, ValueId early) {
  std::vector<Node> nodes = graph.nodes();
  const auto later = std::stable_partition(
      nodes.begin(), nodes.end(), [](const Node& node) { return node.op != "running_statistics"; });
  std::for_each(later, nodes.end(), [&](Node& node) { node.inputs.at(3) = early; });
  graph.set_nodes(std::move(nodes));
}

}  // namespace

Graph update(Graph graph, const OpTable& ops, const OptimizerOptions& options,
             MicroStep micro_step) {
  if (!begins_step(micro_step)) accumulate_gradients(graph, ops);
  for (NodeId i{0}; i.index < graph.node_count(); ++i.index) {
    if (graph.node(i).op == "advance_state") {
      graph.node(i).attributes = to_attributes(options.schedule);
    }
  }
  // Sums over micro-steps lie beside the state: (loss, weight, correct).
  const ValueId step_totals = graph.add_value(
      {.name = "step_totals", .dtype = DType::f64, .shape = {3}, .role = Role::state});
  const ValueId summed =
      emit(graph, ops,
           {.op = "add_totals",
            .name = "add_totals",
            .inputs = {graph.result("totals"), step_totals},
            .outputs = {},
            .attributes = {{"first", std::int64_t{begins_step(micro_step)}}}})[0];
  graph.set_result("step_totals", summed);
  if (!ends_step(micro_step)) return graph;
  const ValueId early = emit(
      graph, ops, {.op = "control_word", .name = "early", .inputs = {summed}, .outputs = {}})[0];
  graph.value(early).name = "early";
  add_optimizer(graph, ops, options, early);
  predicate_running_statistics(graph, early);
  return graph;
}

}  // namespace lockstep::engine
