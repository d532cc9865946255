#include "engine/ops/ops.h"

namespace lockstep::engine {

OpTable standard_ops() {
  OpTable table;
  for (auto family : {convolution_ops, linear_ops, elementwise_ops, pool_ops, flatten_ops,
                      batch_norm_ops, embedding_ops, layer_norm_ops, gelu_ops, attention_ops,
                      dropout_ops, loss_ops, state_ops, optimizer_ops, reorder_ops}) {
    for (OpDefinition& definition : family()) table.add(std::move(definition));
  }
  return table;
}

}  // namespace lockstep::engine
