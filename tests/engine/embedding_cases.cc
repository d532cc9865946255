#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

struct Tables {
  std::int64_t samples, context, vocabulary, positions, width;
};

// Most tokens occur more than once.
Tensor some_tokens(const Tables& t) {
  Tensor tokens({t.samples, t.context});
  for (std::int64_t i = 0; i < tokens.shape.elements(); ++i) {
    tokens[i] = static_cast<double>(i * i % 11 % t.vocabulary);
  }
  return tokens;
}

void add_cases(const Tables& t, DType type, std::vector<ConformanceCase>& cases) {
  const Operand tokens{some_tokens(t), DType::i32};
  const Operand table{random_tensor({t.vocabulary, t.width}, 1), DType::f32, Role::parameter};
  const Operand positions{random_tensor({t.positions, t.width}, 2), DType::f32, Role::parameter};
  const std::string name = fmt::format("{}x{}_{}_of_{}x{}_{}", t.samples, t.context, t.vocabulary,
                                       t.positions, t.width, name_of(type));
  NodeCase forward{
      .name = name, .op = "embedding", .inputs = {tokens, table, positions}, .stored_as = {type}};
  cases.push_back(forward_case(forward, 1));

  const Tensors inputs = tensors_of(forward);
  const Operand dy = stored(random_tensor({t.samples * t.context, t.width}, 3), type);
  const Functional loss = weighted_output(forward, dy.tensor);
  cases.push_back(gradient_case({.name = name,
                                 .op = "embedding_backward_positions",
                                 .attributes = {{"positions", t.positions}},
                                 .inputs = {tokens, dy}},
                                {.loss = loss, .inputs = inputs, .variables = {2}}, 8));
  const Attributes vocabulary{{"vocabulary", t.vocabulary}};
  cases.push_back(gradient_case({.name = name,
                                 .op = "embedding_backward_tokens",
                                 .attributes = vocabulary,
                                 .inputs = {tokens, dy, {}}},
                                {.loss = loss, .inputs = inputs, .variables = {1}}, 8));
  const Operand so_far{random_tensor({t.vocabulary, t.width}, 4), DType::f32, Role::buffer};
  const Functional with_another_use = [loss, so_far](const Tensors& of) {
    double sum = loss(of);
    for (std::int64_t i = 0; i < of[1].shape.elements(); ++i) sum += of[1][i] * so_far.tensor[i];
    return sum;
  };
  cases.push_back(gradient_case({.name = name + "_so_far",
                                 .op = "embedding_backward_tokens",
                                 .attributes = vocabulary,
                                 .inputs = {tokens, dy, so_far}},
                                {.loss = with_another_use, .inputs = inputs, .variables = {1}}, 8));

  forward.name += "_unknown_tokens";
  forward.inputs[0].tensor[0] = static_cast<double>(t.vocabulary);
  forward.inputs[0].tensor[tokens.tensor.shape.elements() - 1] = -1;
  cases.push_back(forward_case(forward, 1));
}

}  // namespace

std::vector<ConformanceCase> embedding_cases() {
  std::vector<ConformanceCase> cases;
  for (DType type : {DType::f32, DType::bf16}) {
    add_cases({1, 1, 1, 1, 1}, type, cases);
    add_cases({2, 3, 5, 4, 7}, type, cases);
    add_cases({3, 17, 9, 17, 300}, type, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
