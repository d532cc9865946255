// What every op of the engine computes, in double precision and in the plainest loops: the measure
// of all kernels. Backward ops are not here: they are measured by differences of their forward op.
#pragma once

#include <string_view>

#include "engine/device/step_state.h"
#include "engine/graph.h"
#include "tests/engine/reference/tensor.h"

namespace lockstep::engine::reference {

// Fills `outputs`, whose shapes are right; an absent input is an empty tensor.
using Function = void (*)(const Attributes&, const Tensors& inputs, Tensors& outputs);

// Throws Error for a backward op and for one that does not exist.
[[nodiscard]] Function find(std::string_view op);

void conv2d(const Attributes&, const Tensors&, Tensors&);
void linear(const Attributes&, const Tensors&, Tensors&);

void relu(const Attributes&, const Tensors&, Tensors&);
void add(const Attributes&, const Tensors&, Tensors&);
void copy(const Attributes&, const Tensors&, Tensors&);
void flatten(const Attributes&, const Tensors&, Tensors&);

void max_pool(const Attributes&, const Tensors&, Tensors&);
void average_pool(const Attributes&, const Tensors&, Tensors&);

void batch_norm_statistics(const Attributes&, const Tensors&, Tensors&);
void batch_norm(const Attributes&, const Tensors&, Tensors&);
void batch_norm_inference(const Attributes&, const Tensors&, Tensors&);
void batch_norm_parameter_gradients(const Attributes&, const Tensors&, Tensors&);
void running_statistics(const Attributes&, const Tensors&, Tensors&);

void embedding(const Attributes&, const Tensors&, Tensors&);
void layer_norm(const Attributes&, const Tensors&, Tensors&);
void gelu(const Attributes&, const Tensors&, Tensors&);
void attention(const Attributes&, const Tensors&, Tensors&);
void dropout(const Attributes&, const Tensors&, Tensors&);

void softmax_cross_entropy(const Attributes&, const Tensors&, Tensors&);

// The step's state from its bytes.
[[nodiscard]] StepState state_of(const Tensor& bytes);

void sgd(const Attributes&, const Tensors&, Tensors&);
void adamw(const Attributes&, const Tensors&, Tensors&);
void clip_scale(const Attributes&, const Tensors&, Tensors&);

void advance_state(const Attributes&, const Tensors&, Tensors&);
void add_totals(const Attributes&, const Tensors&, Tensors&);
void control_word(const Attributes&, const Tensors&, Tensors&);
void conclude_state(const Attributes&, const Tensors&, Tensors&);

}  // namespace lockstep::engine::reference
