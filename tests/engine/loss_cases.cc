#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

struct Shapes {
  std::int64_t samples, labels;  // labels a sample
  std::int64_t classes;
  double scale;
};

void add_cases(const Shapes& s, DType type, std::vector<ConformanceCase>& cases) {
  const std::int64_t rows = s.samples * s.labels;
  Tensor logits = random_tensor({rows, s.classes}, 1);
  for (double& v : logits.values) v *= s.scale;
  logits = stored(logits, type).tensor;
  Tensor labels(Shape{rows}), weights = ones_like(Tensor(Shape{s.samples}));
  for (std::int64_t i = 0; i < rows; ++i) labels[i] = static_cast<double>(i * 7 % s.classes);
  if (rows > 4) labels[2] = -1;
  if (s.samples > 2) weights[s.samples - 1] = 0;
  if (s.samples > 3) weights[1] = 0.5;
  const std::string name =
      fmt::format("{}x{}x{}_scale{}_{}", s.samples, s.labels, s.classes, s.scale, name_of(type));
  const Operand state = state_operand({.global_weight = 24});
  const NodeCase forward{.name = name,
                         .op = "softmax_cross_entropy",
                         .inputs = {{logits, type}, {labels, DType::i32}, {weights}, state}};
  const Tensors inputs = tensors_of(forward);
  cases.push_back(forward_case(forward, 4));
  const Tensor lse = evaluate(forward, inputs)[1];
  const Functional loss = weighted_output(forward, tensor_of({3}, {1.0 / 24, 0, 0}));
  cases.push_back(gradient_case(
      {.name = name,
       .op = "softmax_cross_entropy_backward",
       .inputs = {{logits, type}, {rounded(lse)}, {labels, DType::i32}, {weights}, state},
       .stored_as = {type}},
      {.loss = loss, .inputs = inputs, .variables = {0}, .step = 1e-5}, 8 * (1 + s.scale)));
}

}  // namespace

std::vector<ConformanceCase> loss_cases() {
  std::vector<ConformanceCase> cases;
  for (DType type : {DType::f32, DType::bf16}) {
    add_cases({1, 1, 1, 1}, type, cases);
    add_cases({2, 1, 3, 1}, type, cases);
    add_cases({5, 1, 10, 16}, type, cases);
    add_cases({64, 1, 10, 4}, type, cases);
    add_cases({7, 1, 33, 64}, type, cases);
    add_cases({3, 5, 31, 4}, type, cases);
    add_cases({2, 3, 4133, 8}, type, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
