// The engine's ops, a family a file; standard_ops() collects them. Shapes: x and y are activations
// (N, H, W, C), a matrix is (rows, columns). `sample_weights` f32 [N] is 1 for a sample and 0 for
// padding.
#pragma once

#include <vector>

#include "engine/op.h"

namespace lockstep::engine {

// conv2d(x, w, [b]) stride pad -> y;  w is O, I, H, W
// conv2d_backward_weights(x, dy) kernel_h kernel_w stride pad bias -> dw, [db]
// conv2d_backward_data(w, dy) height width stride pad -> dx
std::vector<OpDefinition> convolution_ops();

// linear(x [N,K], w [O,K], [b]) relu weight_layout -> y [N,O]; see engine/ops/linear.h
// linear_backward_weights(x, dy) bias weight_layout -> dw, [db]
// linear_backward_data(w, dy) weight_layout -> dx
std::vector<OpDefinition> linear_ops();

// relu(x) -> y; relu_backward(y, dy) -> dx
// add(a, b) -> y; accumulate(sum, x) -> sum, in place
std::vector<OpDefinition> elementwise_ops();

// max_pool(x) size stride pad relu -> y, index u8: the place in the window, of which the part over
//     the image's edge never wins; 255 where relu gave 0
// max_pool_backward(dy, index) height width size stride pad -> dx
// average_pool(x) -> y [N,C], over all of H and W; average_pool_backward(dy) height width -> dx
std::vector<OpDefinition> pool_ops();

// flatten(x) -> y [N, C*H*W] in C, H, W order, as frameworks that keep images as planes number them
// unflatten(dy) height width channels -> dx
std::vector<OpDefinition> flatten_ops();

// batch_norm_statistics(x, sample_weights) -> statistics f64 [2C+1]: sums, sums of squares, count
// batch_norm(x, statistics, gamma, beta, [residual], sample_weights) epsilon relu -> y
// batch_norm_backward_statistics(x, statistics, dy, [y], sample_weights) epsilon relu -> sums f64
//     [2C]: of dy, and of dy times the normalised x; y is there with relu
// batch_norm_parameter_gradients(sums) -> dgamma, dbeta
// batch_norm_backward(x, statistics, gamma, sums, dy, [y], sample_weights) epsilon relu residual ->
//     dx, [dresidual]
// batch_norm_inference(x, gamma, beta, running_mean, running_variance, [residual]) epsilon relu ->
// y running_statistics(statistics, mean, variance, early) momentum -> mean, variance; in place,
//     nothing where the step is skipped; the variance is the unbiased one
std::vector<OpDefinition> batch_norm_ops();

// softmax_cross_entropy(logits [R,K], labels i32 [R], weights f32 [N], state) -> totals f64 [3],
// lse f32 [R]; R/N rows a sample, a label of -1 counts for nothing:
//     sum of weight*loss, sum of weight, sum of weight where the largest logit is the label's
// softmax_cross_entropy_backward(logits, lse, labels, weights, state) -> dlogits, scaled by
//     weight / state.global_weight
std::vector<OpDefinition> loss_ops();

// embedding(tokens i32 [N,T], token_table [V,C], position_table [P,C]) -> out [N*T,C]; P is at
// least T; a token that is not in [0,V) makes its row NaN. The gradients ignore such tokens.
// embedding_backward_positions(tokens, dy) positions=P -> dtable [P,C]
// embedding_backward_tokens(tokens, dy, [so_far]) vocabulary=V -> dtable [V,C]; added to so_far in
// its place where that is given
std::vector<OpDefinition> embedding_ops();

// layer_norm(x [R,C], [residual], gamma [C], beta [C]) epsilon -> out, statistics f32 [R,2] (mean,
// 1 / standard deviation), and with a residual sum = x + residual, which is what is normalised
// layer_norm_backward(x or sum, statistics, gamma, dy, [more]) -> dx, dgamma, dbeta; more, a
// further gradient of the normalised value, is added to dx
std::vector<OpDefinition> layer_norm_ops();

// gelu(x) approximation ("tanh" or "none") -> y; gelu_backward(x, dy) approximation -> dx
std::vector<OpDefinition> gelu_ops();

// attention(qkv [N*T,3C], [rows i32 [N]], [state]) heads context=T dropout stream -> out [N*T,C],
// lse f32 [N,heads,T]; causal; head h of width D has its queries at columns h*D, its keys at C+h*D,
// its values at 2C+h*D; scores are divided by sqrt(D); `dropout` is of the probabilities
// attention_backward(qkv, out, lse, dout, [rows], [state]) the same -> dqkv
std::vector<OpDefinition> attention_ops();

// dropout(x [R,C], rows i32 [N], state) probability stream -> y; R/N rows a sample, of which `rows`
// gives the place in the step's global batch; `stream` tells layers apart. What is kept is divided
// by 1 - probability. Its gradient is the same op on dy. See engine/device/random_bits.h.
std::vector<OpDefinition> dropout_ops();

// advance_state(state, global_weight f32 [1]) schedule... -> state; begins a step
// add_totals(totals, step_totals f64 [3]) first -> step_totals; sums micro-steps
// control_word(step_totals) -> early f64 [4]: the totals, and 1 where the loss is not finite
// conclude_state(state, early, [late]) -> state; ends a step
std::vector<OpDefinition> state_ops();

// sgd(w, dw, momentum, state, early, [late]) -> w, momentum; adamw(w, dw, m, v, state, early,
// [late]) -> w, m, v clip_scale(dw...) clip_norm -> late f64 [2]: squared norm, factor
std::vector<OpDefinition> optimizer_ops();

// reorder(value) -> the same elements in another layout (or back in the canonical one)
std::vector<OpDefinition> reorder_ops();

}  // namespace lockstep::engine
