#include "engine/op.h"

#include <fmt/format.h>

#include "engine/error.h"

namespace lockstep::engine {

std::vector<ValueId> GradientContext::emit(std::string op, std::string suffix,
                                           std::vector<ValueId> inputs, Attributes attributes) {
  Node backward{.op = std::move(op),
                .name = node.name + "." + suffix,
                .inputs = std::move(inputs),
                .outputs = {},
                .attributes = std::move(attributes),
                .phase = Phase::backward,
                .block = node.block};
  return engine::emit(graph, ops, std::move(backward));
}

void OpTable::add(OpDefinition definition) {
  std::string name = definition.name;
  if (!definitions_.emplace(name, std::move(definition)).second) {
    throw Error(fmt::format("op \"{}\" is defined twice", name));
  }
}

const OpDefinition& OpTable::find(std::string_view name) const {
  auto it = definitions_.find(name);
  if (it == definitions_.end()) throw Error(fmt::format("there is no op \"{}\"", name));
  return it->second;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> all;
  for (const auto& [name, definition] : definitions_) all.push_back(name);
  return all;
}

std::vector<ValueId> emit(Graph& graph, const OpTable& ops, Node node) {
  const OpDefinition& definition = ops.find(node.op);
  for (OutputSpec& spec : definition.infer(graph, node)) {
    Value value{.name = node.name + "." + spec.suffix,
                .dtype = spec.dtype,
                .shape = std::move(spec.shape),
                .role = spec.role};
    if (spec.aliases_input >= 0) {
      value.alias_of = node.inputs.at(static_cast<std::size_t>(spec.aliases_input));
    }
    node.outputs.push_back(graph.add_value(std::move(value)));
  }
  std::vector<ValueId> outputs = node.outputs;
  graph.add_node(std::move(node));
  return outputs;
}

double bytes_touched(const Graph& graph, const Node& node) {
  double bytes = 0;
  for (ValueId id : node.inputs) {
    if (id.valid()) bytes += static_cast<double>(bytes_of(graph.value(id)));
  }
  for (ValueId id : node.outputs) bytes += static_cast<double>(bytes_of(graph.value(id)));
  return bytes;
}

void require(bool condition, const Node& node, std::string_view what) {
  if (!condition) throw Error(fmt::format("{} \"{}\": {}", node.op, node.name, what));
}

}  // namespace lockstep::engine
