// A static graph of typed values: the one representation that all passes share.
//
//     Graph graph;
//     ValueId x = graph.add_value({.name = "image", .shape = {64, 28, 28, 1}, .role =
//     Role::input}); ValueId w = graph.add_value({.name = "conv1.weight", .shape = {6, 1, 5, 5},
//     .role = Role::parameter}); ValueId y = emit(graph, ops, {.op = "conv2d", .name = "conv1",
//     .inputs = {x, w},
//                                   .attributes = {{"stride", 1}, {"pad", 2}}}).front();   //
//                                   engine/op.h
//
// Values are assigned once. A node that works in place has an output that *aliases* an input:
// another value, the same bytes. Nodes are kept in an order in which every value is produced before
// it is read.
//
// Invariants: indices, never pointers; a value has at most one producer; alias chains have no cycle
// and agree in size. Passes are pure: they take a graph and return another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attributes.h"
#include "engine/device/visibility.h"
#include "engine/dtype.h"
#include "engine/shape.h"

namespace lockstep::engine {

struct ValueId {
  std::int32_t index = -1;
  [[nodiscard]] bool valid() const { return index >= 0; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

struct NodeId {
  std::int32_t index = -1;
  [[nodiscard]] bool valid() const { return index >= 0; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// What a value is for; it decides the arena.
enum class Role {
  input,       // a batch: images, labels, weights
  parameter,   // trained, canonical layout, fp32
  gradient,    // of a parameter, canonical layout, lies in a bucket
  optimizer,   // momentum and the like, laid out as the parameter
  buffer,      // persistent and not trained (running statistics)
  state,       // the StepState
  derived,     // a parameter in a library's layout, refreshed after the update
  activation,  // lives within one step, forward or backward
  scratch,     // as activation, but a node's own workspace or a library-layout intermediate
};
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Role role);

// Whether the value keeps its bytes from one step to the next.
[[nodiscard]] constexpr bool persistent(Role role) {
  return role != Role::activation && role != Role::scratch;
}

// How a value's bytes are arranged. Canonical is plain row-major; others belong to a backend, which
// describes them by a text that it alone reads and that is equal only for equal arrangements.
struct Layout {
  std::string text;          // empty: canonical
  std::size_t bytes = 0;     // whole size, padding included; used where not canonical
  DType dtype = DType::f32;  // of the elements in it; used where not canonical
  [[nodiscard]] bool canonical() const { return text.empty(); }
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Value {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Role role = Role::activation;
  Layout layout = {};
  ValueId alias_of = {};  // shares the bytes of that value
  ValueId of = {};        // gradient, optimizer state, derived weight: the parameter it belongs to
  int part = 0;           // optimizer state: which of the parameter's states (momentum 0; m 0, v 1)
  NodeId producer = {};   // invalid: given from outside
};

// Bytes the value occupies.
[[nodiscard]] LOCKSTEP_API std::size_t bytes_of(const Value& value);

// Which part of a training step a node belongs to.
enum class Phase { forward, backward, update, refresh };
[[nodiscard]] LOCKSTEP_API std::string_view name_of(Phase phase);

// In which of the device's streams a node runs.
enum class StreamKind : std::uint8_t { compute, communication };

struct Node {
  std::string op;
  std::string name;
  std::vector<ValueId>
      inputs;  // read; an invalid id stands for an optional input that is not there
  std::vector<ValueId> outputs;  // written
  Attributes attributes = {};
  Phase phase = Phase::forward;
  StreamKind stream = StreamKind::compute;
  ValueId workspace = {};  // scratch the kernel asked for, if any
  int block = -1;          // the model's block it belongs to, backward nodes too (engine/passes.h,
                           // recompute); -1: none
  bool repeated = false;   // by recompute: the work is done a second time
};

class LOCKSTEP_API Graph {
 public:
  ValueId add_value(Value value);

  // Appends `node`, whose outputs become its own. Throws Error if an output already has a producer.
  NodeId add_node(Node node);

  [[nodiscard]] const Value& value(ValueId id) const { return values_.at(index(id)); }
  [[nodiscard]] Value& value(ValueId id) { return values_.at(index(id)); }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_.at(index(id)); }
  [[nodiscard]] Node& node(NodeId id) { return nodes_.at(index(id)); }
  [[nodiscard]] std::int32_t value_count() const {
    return static_cast<std::int32_t>(values_.size());
  }
  [[nodiscard]] std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }

  // Replaces the nodes by `nodes`, in that order; values keep their ids, producers are set anew.
  void set_nodes(std::vector<Node> nodes);
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

  // The value at the end of the alias chain: whose bytes `id` really uses.
  [[nodiscard]] ValueId storage_of(ValueId id) const;

  // Marks what the caller wants to keep (loss, ...), by name.
  void set_result(std::string name, ValueId id);
  [[nodiscard]] ValueId result(std::string_view name) const;  // Error where there is none
  [[nodiscard]] const std::vector<std::pair<std::string, ValueId>>& results() const {
    return results_;
  }

  // Values of one role, in order of creation.
  [[nodiscard]] std::vector<ValueId> values_of(Role role) const;

  // One line a node, as golden tests compare it:
  //   conv1: conv2d(image, conv1.weight, conv1.bias) pad=2 stride=1 -> conv1.out f32[64x28x28x6]
  [[nodiscard]] std::string dump() const;

 private:
  template <class Id>
  static std::size_t index(Id id) {
    return static_cast<std::size_t>(id.index);
  }
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, ValueId>> results_;
};

}  // namespace lockstep::engine
