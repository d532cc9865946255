#include <set>

#include "engine/passes.h"

namespace lockstep::engine {
namespace {

// Whether output `o` of `node` may be stored in less than f32.
bool may_be_low(const Graph& graph, const Node& node, const OutputSpec& spec, std::size_t o) {
  const Value& value = graph.value(node.outputs[o]);
  return !spec.exact && value.dtype == DType::f32 && value.role == Role::activation &&
         !value.alias_of.valid();
}

}  // namespace

Graph precision(Graph graph, const OpTable& ops, Precision precision) {
  for (const Node& node : graph.nodes()) {
    const bool low = ops.find(node.op).precision == PrecisionClass::low;
    for (ValueId id : node.outputs) {
      require(!low || graph.value(id).dtype == DType::f32, node,
              "an op of class low is built in fp32");
    }
  }
  if (precision == Precision::fp32) return graph;
  std::set<ValueId> wanted_low;
  for (std::int32_t i = graph.node_count(); i-- > 0;) {
    Node& node = graph.node({i});
    const OpDefinition& op = ops.find(node.op);
    const std::vector<OutputSpec> specs = op.infer(graph, node);
    bool any_low = false;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!wanted_low.contains(node.outputs[o]) || !may_be_low(graph, node, specs[o], o)) continue;
      graph.value(node.outputs[o]).dtype = DType::bf16;
      any_low = true;
    }
    if (op.precision == PrecisionClass::low) node.attributes.set("compute", std::string("bf16"));
    if (op.precision == PrecisionClass::low ||
        (op.precision == PrecisionClass::widest && any_low)) {
      wanted_low.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  return graph;
}

}  // namespace lockstep::engine
