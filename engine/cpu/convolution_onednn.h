// Convolutions as oneDNN does them: activations N, H, W, C, weights in the layout that it chooses,
// gradients of weights in its own and in f32. A node that may compute in bf16 does so where
// LowProducts says it, with f32 sums; else in f32.
//
// Operands stored in the other type pass through the workspace: a few images at a time, about a
// second-level cache full, but for the weights' gradient, which takes the whole batch at once.
#pragma once

#include "engine/cpu/convolution_shape.h"
#include "engine/cpu/families.h"
#include "engine/cpu/operands.h"

namespace lockstep::engine::cpu {

[[nodiscard]] OperandWishes forward_convolution_wishes(const Context& context, const Operands& o,
                                                       const ConvolutionShape& shape);
[[nodiscard]] Kernel forward_convolution(const Context& context, const Binding& b,
                                         const ConvolutionShape& shape);

[[nodiscard]] OperandWishes backward_weights_convolution_wishes(const Context& context,
                                                                const Operands& o,
                                                                const ConvolutionShape& shape);
[[nodiscard]] Kernel backward_weights_convolution(const Context& context, const Binding& b,
                                                  const ConvolutionShape& shape);

[[nodiscard]] OperandWishes backward_data_convolution_wishes(const Context& context,
                                                             const Operands& o,
                                                             const ConvolutionShape& shape);
[[nodiscard]] Kernel backward_data_convolution(const Context& context, const Binding& b,
                                               const ConvolutionShape& shape);

}  // namespace lockstep::engine::cpu
