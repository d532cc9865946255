// What an op is: its shapes, its gradient, its cost, its precision. One op, one file in engine/ops.
//
// The set of ops is a value, OpTable, handed to the passes. Nothing registers itself:
// runtime/parallel adds its ops to the table it hands on, a plug-in's model adds its own.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/graph.h"

namespace lockstep::engine {

// Which precision an op may compute in when the job asks for less than fp32.
enum class PrecisionClass {
  low,     // products with fp32 accumulation: convolutions, matrix products
  fp32,    // loss, softmax, norms, small sums
  widest,  // as its widest input: elementwise
};

// One output as shape inference gives it.
struct OutputSpec {
  std::string suffix;  // its name is "<node>.<suffix>"
  Shape shape;
  DType dtype = DType::f32;
  Role role = Role::activation;
  int aliases_input = -1;  // index of the input whose bytes it shares; -1: its own
  bool exact = false;      // stays in its type whatever the job's precision (statistics, indices)
};

// Work of a node: floating-point operations and bytes read and written once.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

class OpTable;

// What a gradient function sees: the forward node, the gradients of its outputs (invalid where
// nothing depends on the output), and which inputs want one. It emits backward nodes and fills
// input_gradients. An input that other nodes read too may have part of its gradient already
// (`so_far`): an op that can add to it in its own pass does so and sets `includes_so_far`.
struct LOCKSTEP_API GradientContext {
  Graph& graph;
  const OpTable& ops;
  const Node node;
  std::vector<ValueId> output_gradients;
  std::vector<bool> wanted;
  std::vector<ValueId> input_gradients;
  std::vector<ValueId> so_far;
  std::vector<bool> includes_so_far;

  [[nodiscard]] ValueId input(std::size_t i) const { return node.inputs.at(i); }
  [[nodiscard]] ValueId output(std::size_t i) const { return node.outputs.at(i); }

  // Appends a backward node named "<forward node>.<suffix>" and returns its outputs.
  std::vector<ValueId> emit(std::string op, std::string suffix, std::vector<ValueId> inputs,
                            Attributes attributes);
};

struct OpDefinition {
  std::string name;
  PrecisionClass precision = PrecisionClass::fp32;

  // Outputs from inputs; throws Error that says which extent does not fit.
  std::vector<OutputSpec> (*infer)(const Graph&, const Node&) = nullptr;

  // Null: the op ends differentiation (backward ops, updates, data).
  void (*gradient)(GradientContext&) = nullptr;

  Cost (*cost)(const Graph&, const Node&) = nullptr;

  // Output 0 may take the bytes of this input when nothing reads the input later; -1: never.
  int in_place_input = -1;
};

class LOCKSTEP_API OpTable {
 public:
  // Throws Error if the name is taken.
  void add(OpDefinition definition);

  // Throws Error that names the op where it is unknown.
  [[nodiscard]] const OpDefinition& find(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::map<std::string, OpDefinition, std::less<>> definitions_;
};

// All ops of the engine itself.
[[nodiscard]] LOCKSTEP_API OpTable standard_ops();

// Infers the outputs of `node` (whose outputs are empty), adds them and appends the node.
LOCKSTEP_API std::vector<ValueId> emit(Graph& graph, const OpTable& ops, Node node);

// Bytes of all inputs and outputs: the usual memory part of a Cost.
[[nodiscard]] LOCKSTEP_API double bytes_touched(const Graph& graph, const Node& node);

// Throws Error "<node>: <what>" unless `condition`.
LOCKSTEP_API void require(bool condition, const Node& node, std::string_view what);

}  // namespace lockstep::engine
