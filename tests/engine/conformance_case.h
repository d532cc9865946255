// A node, and what its outputs must be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/step_state.h"
#include "tests/engine/reference/tensor.h"
#include "tests/engine/run_node.h"

namespace lockstep::engine::test {

// What some elements of one output must be, each within its own bound.
struct Expectation {
  std::vector<std::int64_t> elements;
  std::vector<double> values;
  std::vector<double> bounds;
};

struct ConformanceCase {
  NodeCase node;
  // By output. Computed when asked for: it may take a while.
  std::function<std::vector<Expectation>()> expect;
};

std::ostream& operator<<(std::ostream& out, const ConformanceCase& c);

// All cases of all ops, a family a function.
std::vector<ConformanceCase> convolution_cases();
std::vector<ConformanceCase> linear_cases();
std::vector<ConformanceCase> image_cases();
std::vector<ConformanceCase> batch_norm_cases();
std::vector<ConformanceCase> loss_cases();
std::vector<ConformanceCase> elementwise_cases();
std::vector<ConformanceCase> embedding_cases();
std::vector<ConformanceCase> layer_norm_cases();
std::vector<ConformanceCase> attention_cases();
std::vector<ConformanceCase> dropout_cases();
std::vector<ConformanceCase> training_cases();

// --- What the families are made of.

// Values in [-1, 1] that a float holds exactly, none nearer to 0 than 1/64, from a counter hash.
[[nodiscard]] reference::Tensor random_tensor(const Shape& shape, std::uint64_t seed);
// Values that all differ, by more than the step of a difference, in [-1, 1]; none is 0.
[[nodiscard]] reference::Tensor distinct_tensor(const Shape& shape, std::uint64_t seed);
[[nodiscard]] reference::Tensor tensor_of(const Shape& shape, std::vector<double> values);
// As bf16 holds it, and as an operand that is stored so.
[[nodiscard]] reference::Tensor rounded_to_bf16(reference::Tensor tensor);
[[nodiscard]] Operand low(const reference::Tensor& tensor);
// How a layer's activations are stored, and whether it may compute in bf16.
struct Storage {
  DType x, y;
  bool low_arithmetic;
};
// What a precision pass may make of a product, all but plain f32.
[[nodiscard]] std::vector<Storage> mixed_storage();
// The tensor, which bf16 holds exactly where it is to.
[[nodiscard]] Operand stored(const reference::Tensor& tensor, DType type);
// As a float holds it.
[[nodiscard]] reference::Tensor rounded(reference::Tensor tensor);
// The step state as an input.
[[nodiscard]] Operand state_operand(const StepState& state);
[[nodiscard]] reference::Tensor absolute(reference::Tensor tensor);
[[nodiscard]] reference::Tensor ones_like(const reference::Tensor& tensor);

// The forward op of the double-precision reference.
[[nodiscard]] reference::Tensors evaluate(const NodeCase& node, const reference::Tensors& inputs);
[[nodiscard]] reference::Tensors tensors_of(const NodeCase& node);

// At most `most` of the elements [0, count): all, or the ends and some in between.
[[nodiscard]] std::vector<std::int64_t> some_elements(std::int64_t count, std::int64_t most);

using Functional = std::function<double(const reference::Tensors&)>;
// (f(x + h e) - f(x - h e)) / 2h, where e is one element of one input.
[[nodiscard]] double central_difference(const Functional& f, reference::Tensors inputs,
                                        std::size_t input, std::int64_t element, double h);
// sum of dy times the forward op's first output.
[[nodiscard]] Functional weighted_output(const NodeCase& forward, reference::Tensor dy);

// The op against its reference: each element within `units` roundings of the output's largest.
[[nodiscard]] ConformanceCase forward_case(NodeCase node, double units);
// A sum of products against its reference: within 4 eps sqrt(K) sum|a||b|.
[[nodiscard]] ConformanceCase product_case(NodeCase node);
// The backward `node`, whose output o is the gradient of `loss` by input variables[o] of `inputs`.
struct GradientOf {
  Functional loss;
  reference::Tensors inputs;
  std::vector<std::size_t> variables;
  double step = 1e-6;
};
[[nodiscard]] ConformanceCase gradient_case(NodeCase node, GradientOf of, double units);
// As gradient_case, of a bilinear forward op with output gradient dy; bounds as product_case.
[[nodiscard]] ConformanceCase product_gradient_case(NodeCase node, NodeCase forward,
                                                    reference::Tensor dy,
                                                    std::vector<std::size_t> variables);

}  // namespace lockstep::engine::test
