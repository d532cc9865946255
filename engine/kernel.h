// What a device offers for an op: which layouts it wants, how much workspace it needs, and a kernel
// bound to addresses. engine/cpu and engine/cuda each give a KernelTable; runtime/parallel adds its
// own two.
//
// A kernel is bound once and run every step: binding may be slow (it chooses algorithms), running
// allocates nothing. Thread rule: a kernel runs on one thread at a time and may use the device's
// threads inside.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/graph.h"

namespace lockstep::engine {

using Kernel = std::function<void()>;

// Layouts a kernel wants of its operands, in the node's order; an empty vector: all canonical.
struct OperandWishes {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  std::size_t workspace = 0;  // bytes
};

// A node and where its operands lie. Absent optional inputs are null.
struct Binding {
  const Graph& graph;
  const Node& node;
  std::vector<std::byte*> inputs;
  std::vector<std::byte*> outputs;
  std::byte* workspace = nullptr;

  template <class T>
  [[nodiscard]] const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs.at(i));
  }
  template <class T>
  [[nodiscard]] T* out(std::size_t i) const {
    return reinterpret_cast<T*>(outputs.at(i));
  }
  [[nodiscard]] const Value& input(std::size_t i) const { return graph.value(node.inputs.at(i)); }
  [[nodiscard]] const Value& output(std::size_t i) const { return graph.value(node.outputs.at(i)); }
};

struct KernelDefinition {
  std::string op;
  std::function<Kernel(const Binding&)> bind;
  std::function<OperandWishes(const Graph&, const Node&)> wishes =
      nullptr;  // null: canonical, none
};

class LOCKSTEP_API KernelTable {
 public:
  // Throws Error if the op has a kernel already.
  void add(KernelDefinition definition);
  // Throws Error that names the op where the device has no kernel for it.
  [[nodiscard]] const KernelDefinition& find(std::string_view op) const;

 private:
  std::map<std::string, KernelDefinition, std::less<>> kernels_;
};

}  // namespace lockstep::engine
