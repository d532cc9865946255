#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/fingerprint.h"
#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// Stable over programs and runs, so that all programs of a job share one derived weight.
std::string derived_name(const std::string& parameter, const Layout& layout) {
  return fmt::format("{}@{:016x}", parameter, fingerprint(layout.text));
}

class LayoutPass {
 public:
  LayoutPass(Graph& graph, const KernelTable& kernels) : graph_(graph), kernels_(kernels) {}

  void run() {
    for (Node node : graph_.nodes()) {
      const auto& wishes_of = kernels_.find(node.op).wishes;
      const OperandWishes wishes = wishes_of ? wishes_of(graph_, node) : OperandWishes{};
      for (std::size_t i = 0; i < wishes.inputs.size(); ++i) {
        if (!wishes.inputs[i].canonical())
          node.inputs[i] = derive(node, node.inputs[i], wishes.inputs[i]);
      }
      if (wishes.workspace > 0) {
        node.workspace = graph_.add_value({.name = node.name + ".workspace",
                                           .dtype = DType::u8,
                                           .shape = {static_cast<std::int64_t>(wishes.workspace)},
                                           .role = Role::scratch});
      }
      std::vector<Node> back;
      for (std::size_t i = 0; i < wishes.outputs.size(); ++i) {
        if (!wishes.outputs[i].canonical()) back.push_back(divert(node, i, wishes.outputs[i]));
      }
      nodes_.push_back(std::move(node));
      std::move(back.begin(), back.end(), std::back_inserter(nodes_));
    }
    graph_.set_nodes(std::move(nodes_));
  }

 private:
  ValueId derive(const Node& node, ValueId input, const Layout& layout) {
    const Value parameter = graph_.value(input);
    require(parameter.role == Role::parameter, node,
            "asks for another layout of \"" + parameter.name + "\", which is not a parameter");
    const std::string name = derived_name(parameter.name, layout);
    ValueId& derived = derived_[name];
    if (!derived.valid()) {
      derived = graph_.add_value({.name = name,
                                  .dtype = layout.dtype,
                                  .shape = parameter.shape,
                                  .role = Role::derived,
                                  .layout = layout,
                                  .of = input});
    }
    return derived;
  }

  // The node writes scratch in its own layout, and a reorder brings it to where it was meant to be.
  Node divert(Node& node, std::size_t output, const Layout& layout) {
    const ValueId wanted = node.outputs[output];
    const Value canonical = graph_.value(wanted);
    node.outputs[output] = graph_.add_value({.name = canonical.name + ".scratch",
                                             .dtype = canonical.dtype,
                                             .shape = canonical.shape,
                                             .role = Role::scratch,
                                             .layout = layout});
    return {.op = "reorder",
            .name = canonical.name + ".reorder",
            .inputs = {node.outputs[output]},
            .outputs = {wanted},
            .phase = node.phase};
  }

  Graph& graph_;
  const KernelTable& kernels_;
  std::vector<Node> nodes_;
  std::map<std::string, ValueId> derived_;
};

// The newest value that holds parameter `name`: what an update made of it, if one did.
ValueId newest(Graph& graph, const DerivedWeight& wanted) {
  ValueId parameter;
  for (ValueId id : graph.values_of(Role::parameter)) {
    const Value& value = graph.value(id);
    if (value.name == wanted.parameter ||
        (value.of.valid() && graph.value(value.of).name == wanted.parameter)) {
      parameter = id;
    }
  }
  if (parameter.valid()) return parameter;
  return graph.add_value({.name = wanted.parameter,
                          .dtype = DType::f32,
                          .shape = wanted.shape,
                          .role = Role::parameter});
}

}  // namespace

Graph layout(Graph graph, const OpTable&, const KernelTable& kernels) {
  LayoutPass(graph, kernels).run();
  return graph;
}

std::vector<DerivedWeight> derived_weights(const Graph& graph) {
  std::vector<DerivedWeight> found;
  for (ValueId id : graph.values_of(Role::derived)) {
    const Value& value = graph.value(id);
    found.push_back({graph.value(value.of).name, value.dtype, value.shape, value.layout});
  }
  return found;
}

Graph refreshed(Graph graph, const OpTable& ops, std::span<const DerivedWeight> derived) {
  for (const DerivedWeight& wanted : derived) {
    const std::string name = derived_name(wanted.parameter, wanted.layout);
    const ValueId parameter = newest(graph, wanted);
    const ValueId fresh = emit(graph, ops,
                               {.op = "reorder",
                                .name = name + ".refresh",
                                .inputs = {parameter},
                                .outputs = {},
                                .phase = Phase::refresh})[0];
    Value& value = graph.value(fresh);
    value.name = name;
    value.dtype = wanted.dtype;
    value.role = Role::derived;
    value.layout = wanted.layout;
    value.of = parameter;
    for (ValueId stale : graph.values_of(Role::derived)) {
      if (stale != fresh && graph.value(stale).name == name) {
        graph.value(fresh).alias_of = stale;
        graph.value(fresh).name = name + ".new";
      }
    }
  }
  return graph;
}

}  // namespace lockstep::engine
