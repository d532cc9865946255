// How a linear layer's weight lies: attribute `weight_layout` of its three ops.
#pragma once

#include "engine/graph.h"

namespace lockstep::engine {

enum class WeightLayout {
  out_in,  // [outputs, inputs], as torch's Linear; where the attribute is not set
  in_out,  // [inputs, outputs], as Conv1D of Hugging Face's GPT-2
};

// Throws Error where the attribute is neither "out_in" nor "in_out".
[[nodiscard]] WeightLayout weight_layout_of(const Node& node);

}  // namespace lockstep::engine
