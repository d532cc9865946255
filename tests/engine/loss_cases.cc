#include <fmt/format.h>

#include <array>
#include <cstring>

#include "engine/device/step_state.h"
#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

Tensor state_with_global_weight(float weight) {
  StepState state;
  state.global_weight = weight;
  std::array<unsigned char, sizeof(StepState)> raw{};
  std::memcpy(raw.data(), &state, raw.size());
  return tensor_of({sizeof(StepState)}, {raw.begin(), raw.end()});
}

void add_cases(std::int64_t samples, std::int64_t classes, double scale,
               std::vector<ConformanceCase>& cases) {
  Tensor logits = random_tensor({samples, classes}, 1);
  for (double& v : logits.values) v *= scale;
  Tensor labels(Shape{samples}), weights = ones_like(labels);
  for (std::int64_t i = 0; i < samples; ++i) labels[i] = static_cast<double>(i * 7 % classes);
  if (samples > 2) weights[samples - 1] = 0;
  if (samples > 3) weights[1] = 0.5;
  const std::string name = fmt::format("{}x{}_scale{}", samples, classes, scale);
  const Operand state{state_with_global_weight(24), DType::u8, Role::state};
  const NodeCase forward{.name = name,
                         .op = "softmax_cross_entropy",
                         .inputs = {{logits}, {labels, DType::i32}, {weights}, state}};
  const Tensors inputs = tensors_of(forward);
  cases.push_back(forward_case(forward, 4));
  const Tensor lse = evaluate(forward, inputs)[1];
  const Functional loss = weighted_output(forward, tensor_of({3}, {1.0 / 24, 0, 0}));
  cases.push_back(gradient_case(
      {.name = name,
       .op = "softmax_cross_entropy_backward",
       .inputs = {{logits}, {rounded(lse)}, {labels, DType::i32}, {weights}, state}},
      {.loss = loss, .inputs = inputs, .variables = {0}, .step = 1e-5}, 8 * (1 + scale)));
}

}  // namespace

std::vector<ConformanceCase> loss_cases() {
  std::vector<ConformanceCase> cases;
  add_cases(1, 1, 1, cases);
  add_cases(2, 3, 1, cases);
  add_cases(5, 10, 16, cases);
  add_cases(64, 10, 4, cases);
  add_cases(7, 33, 64, cases);
  return cases;
}

}  // namespace lockstep::engine::test
