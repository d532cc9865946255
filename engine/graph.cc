#include "engine/graph.h"

#include <fmt/format.h>

#include "engine/error.h"

namespace lockstep::engine {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::parameter:
      return "parameter";
    case Role::gradient:
      return "gradient";
    case Role::optimizer:
      return "optimizer";
    case Role::buffer:
      return "buffer";
    case Role::state:
      return "state";
    case Role::derived:
      return "derived";
    case Role::activation:
      return "activation";
    case Role::scratch:
      return "scratch";
  }
  return "?";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
    case Phase::refresh:
      return "refresh";
  }
  return "?";
}

std::size_t bytes_of(const Value& value) {
  if (!value.layout.canonical()) return value.layout.bytes;
  return static_cast<std::size_t>(value.shape.elements()) * size_of(value.dtype);
}

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return ValueId{value_count() - 1};
}

NodeId Graph::add_node(Node node) {
  NodeId id{node_count()};
  for (ValueId output : node.outputs) {
    Value& produced = value(output);
    if (produced.producer.valid()) {
      throw Error(fmt::format("value \"{}\" is produced twice: by \"{}\" and by \"{}\"",
                              produced.name, nodes_[index(produced.producer)].name, node.name));
    }
    produced.producer = id;
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::set_nodes(std::vector<Node> nodes) {
  for (Value& value : values_) value.producer = {};
  nodes_.clear();
  nodes_.reserve(nodes.size());
  for (Node& node : nodes) add_node(std::move(node));
}

ValueId Graph::storage_of(ValueId id) const {
  while (value(id).alias_of.valid()) id = value(id).alias_of;
  return id;
}

void Graph::set_result(std::string name, ValueId id) {
  for (auto& [known, value] : results_) {
    if (known == name) {
      value = id;
      return;
    }
  }
  results_.emplace_back(std::move(name), id);
}

ValueId Graph::result(std::string_view name) const {
  for (const auto& [known, id] : results_) {
    if (known == name) return id;
  }
  throw Error(fmt::format("the graph has no result \"{}\"", name));
}

std::vector<ValueId> Graph::values_of(Role role) const {
  std::vector<ValueId> found;
  for (std::int32_t i = 0; i < value_count(); ++i) {
    if (values_[static_cast<std::size_t>(i)].role == role) found.push_back({i});
  }
  return found;
}

std::string Graph::dump() const {
  std::string text;
  auto name = [&](ValueId id) { return id.valid() ? value(id).name : std::string("-"); };
  for (const Node& node : nodes_) {
    text += fmt::format("{}: {}(", node.name, node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      text += fmt::format("{}{}", i ? ", " : "", name(node.inputs[i]));
    }
    text += ")";
    if (std::string attributes = node.attributes.dump(); !attributes.empty()) {
      text += " " + attributes;
    }
    text += " ->";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& out = value(node.outputs[i]);
      text +=
          fmt::format("{} {} {}[{}]", i ? "," : "", out.name, name_of(out.dtype), out.shape.text());
      if (!out.layout.canonical()) text += fmt::format(" {{{}}}", out.layout.text);
      if (out.alias_of.valid()) text += fmt::format(" = {}", value(out.alias_of).name);
    }
    text += '\n';
  }
  return text;
}

}  // namespace lockstep::engine
