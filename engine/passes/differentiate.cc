#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "engine/error.h"
#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// Values whose gradient is asked for: those that depend on a parameter.
std::set<ValueId> trained_values(const Graph& graph) {
  std::set<ValueId> trained;
  for (ValueId id : graph.values_of(Role::parameter)) trained.insert(id);
  for (const Node& node : graph.nodes()) {
    bool depends = false;
    for (ValueId id : node.inputs) depends = depends || trained.contains(id);
    if (depends) trained.insert(node.outputs.begin(), node.outputs.end());
  }
  return trained;
}

// A gradient that this node computes is stored in the type of what it is the gradient of.
void store_as(Graph& graph, ValueId gradient, ValueId value, std::int32_t first_new) {
  const NodeId producer = graph.value(gradient).producer;
  if (producer.index < first_new || graph.value(value).role != Role::activation) return;
  graph.value(gradient).dtype = graph.value(value).dtype;
}

// Backward nodes compute in the precision of their forward node.
void compute_as(Graph& graph, const OpTable& ops, const Node& forward, std::int32_t first_new) {
  if (!forward.attributes.has("compute")) return;
  for (std::int32_t i = first_new; i < graph.node_count(); ++i) {
    if (ops.find(graph.node({i}).op).precision != PrecisionClass::low) continue;
    graph.node({i}).attributes.set("compute", forward.attributes.text("compute"));
  }
}

class Gradients {
 public:
  Gradients(Graph& graph, const OpTable& ops) : graph_(graph), ops_(ops) {}

  [[nodiscard]] ValueId of(ValueId value) const {
    auto it = gradients_.find(value);
    return it == gradients_.end() ? ValueId{} : it->second;
  }

  void replace(ValueId value, ValueId gradient) { gradients_[value] = gradient; }

  // A value that is read twice has the sum of both gradients.
  void add(ValueId value, ValueId gradient) {
    ValueId& known = gradients_[value];
    if (!known.valid()) {
      known = gradient;
      return;
    }
    known = emit(graph_, ops_,
                 {.op = "add",
                  .name = graph_.value(value).name + ".gradient_sum" + std::to_string(sums_++),
                  .inputs = {known, gradient},
                  .outputs = {},
                  .phase = Phase::backward})[0];
  }

 private:
  Graph& graph_;
  const OpTable& ops_;
  std::map<ValueId, ValueId> gradients_;
  int sums_ = 0;
};

}  // namespace

Graph differentiate(Graph graph, const OpTable& ops) {
  const std::set<ValueId> trained = trained_values(graph);
  const std::vector<Node> forward = graph.nodes();
  const ValueId totals = graph.result("totals");
  Gradients gradients(graph, ops);

  for (auto node = forward.rbegin(); node != forward.rend(); ++node) {
    GradientContext context{.graph = graph, .ops = ops, .node = *node};
    bool reached = false;
    for (ValueId id : node->outputs) {
      context.output_gradients.push_back(gradients.of(id));
      reached = reached || gradients.of(id).valid() || id == totals;
    }
    bool any = false;
    for (ValueId id : node->inputs) {
      context.wanted.push_back(id.valid() && trained.contains(id));
      any = any || context.wanted.back();
    }
    const auto gradient = ops.find(node->op).gradient;
    if (!reached || !any || !gradient) continue;
    context.input_gradients.resize(node->inputs.size());
    context.includes_so_far.resize(node->inputs.size());
    for (ValueId id : node->inputs) {
      context.so_far.push_back(id.valid() ? gradients.of(id) : ValueId{});
    }
    const std::int32_t first_new = graph.node_count();
    gradient(context);
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const ValueId mine = context.input_gradients[i];
      if (!context.wanted[i] || !mine.valid()) continue;
      store_as(graph, mine, node->inputs[i], first_new);
      if (context.includes_so_far[i]) {
        gradients.replace(node->inputs[i], mine);
      } else {
        gradients.add(node->inputs[i], mine);
      }
    }
    compute_as(graph, ops, *node, first_new);
  }

  std::vector<std::string> unused;
  for (ValueId parameter : graph.values_of(Role::parameter)) {
    const ValueId id = gradients.of(parameter);
    if (!id.valid()) {
      unused.push_back(graph.value(parameter).name);
      continue;
    }
    Value& gradient = graph.value(id);
    gradient.name = graph.value(parameter).name + ".grad";
    gradient.role = Role::gradient;
    gradient.of = parameter;
    // A sum that was added to in place lies where its first part does: in the bucket.
    for (ValueId part = gradient.alias_of; part.valid(); part = graph.value(part).alias_of) {
      graph.value(part).role = Role::gradient;
      graph.value(part).of = parameter;
    }
  }
  if (!unused.empty()) {
    throw Error(fmt::format("the loss does not depend on {}: use or remove these parameters",
                            fmt::join(unused, ", ")));
  }
  return graph;
}

}  // namespace lockstep::engine
