#include "engine/passes.h"

namespace lockstep::engine {

Graph precision(Graph graph, const OpTable& ops, Precision) {
  for (const Node& node : graph.nodes()) {
    const bool low = ops.find(node.op).precision == PrecisionClass::low;
    for (ValueId id : node.outputs) {
      require(!low || graph.value(id).dtype == DType::f32, node,
              "an op of class low must give fp32 in an fp32 graph");
    }
  }
  return graph;
}

}  // namespace lockstep::engine
