// A node's operands as wishes and kernels see them alike: shapes and types always, addresses once
// they are bound.
#pragma once

#include <cstddef>

#include "engine/cpu/convert.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu {

class Operands {
 public:
  Operands(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}
  explicit Operands(const Binding& binding)
      : graph_(binding.graph), node_(binding.node), binding_(&binding) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const Attributes& attributes() const { return node_.attributes; }

  // Optional ones.
  [[nodiscard]] bool has_in(std::size_t i) const {
    return i < node_.inputs.size() && node_.inputs[i].valid();
  }
  [[nodiscard]] bool has_out(std::size_t i) const { return i < node_.outputs.size(); }

  [[nodiscard]] const Shape& in_shape(std::size_t i) const {
    return graph_.value(node_.inputs.at(i)).shape;
  }
  [[nodiscard]] const Shape& out_shape(std::size_t i) const {
    return graph_.value(node_.outputs.at(i)).shape;
  }

  // Null while there are no addresses, and where the operand is absent.
  [[nodiscard]] StoredArray in(std::size_t i) const {
    if (!has_in(i)) return {};
    return {binding_ ? binding_->inputs.at(i) : nullptr, graph_.value(node_.inputs[i]).dtype};
  }
  [[nodiscard]] StoredArray out(std::size_t i) const {
    if (!has_out(i)) return {};
    return {binding_ ? binding_->outputs.at(i) : nullptr, graph_.value(node_.outputs[i]).dtype};
  }

 private:
  const Graph& graph_;
  const Node& node_;
  const Binding* binding_ = nullptr;
};

}  // namespace lockstep::engine::cpu
