// Elementwise ops on operands that are stored in f32, in bf16, or some in each.
#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;

constexpr DType kTypes[] = {DType::f32, DType::bf16};

void add_pairs(const Shape& shape, DType a_type, DType b_type,
               std::vector<ConformanceCase>& cases) {
  const Operand a = stored(random_tensor(shape, 1), a_type);
  const Operand b = stored(random_tensor(shape, 2), b_type);
  for (DType to : kTypes) {
    const std::string name =
        fmt::format("{}_{}_{}_to_{}", shape.text(), name_of(a_type), name_of(b_type), name_of(to));
    cases.push_back(
        forward_case({.name = name, .op = "add", .inputs = {a, b}, .stored_as = {to}}, 1));
    const NodeCase relu{.name = name, .op = "relu", .inputs = {a}, .stored_as = {to}};
    cases.push_back(forward_case(relu, 0));
    cases.push_back(gradient_case(
        {.name = name,
         .op = "relu_backward",
         .inputs = {{evaluate(relu, {a.tensor})[0], a_type}, b},
         .stored_as = {to}},
        {.loss = weighted_output(relu, b.tensor), .inputs = {a.tensor}, .variables = {0}}, 0));
  }
  Operand sum = a;
  sum.role = Role::buffer;
  cases.push_back(
      forward_case({.name = fmt::format("{}_{}_{}", shape.text(), name_of(a_type), name_of(b_type)),
                    .op = "accumulate",
                    .inputs = {sum, b},
                    .stored_as = {a_type}},
                   1));
}

void add_gelu(const Shape& shape, double scale, DType x_type, std::vector<ConformanceCase>& cases) {
  Tensor values = random_tensor(shape, 3);
  for (double& v : values.values) v *= scale;
  const Operand x = stored(values, x_type);
  for (const char* approximation : {"tanh", "none"}) {
    for (DType other : kTypes) {
      const NodeCase forward{.name = fmt::format("{}_scale{}_{}_{}_{}", shape.text(), scale,
                                                 approximation, name_of(x_type), name_of(other)),
                             .op = "gelu",
                             .attributes = {{"approximation", std::string(approximation)}},
                             .inputs = {x},
                             .stored_as = {other}};
      cases.push_back(forward_case(forward, 8));
      const Operand dy = stored(random_tensor(shape, 4), other);
      cases.push_back(gradient_case(
          {.name = forward.name,
           .op = "gelu_backward",
           .attributes = forward.attributes,
           .inputs = {x, dy},
           .stored_as = {x_type}},
          {.loss = weighted_output(forward, dy.tensor), .inputs = {x.tensor}, .variables = {0}},
          8));
    }
  }
}

}  // namespace

std::vector<ConformanceCase> elementwise_cases() {
  std::vector<ConformanceCase> cases;
  for (const Shape& shape : std::vector<Shape>{{1}, {3, 5}, {64}, {33, 521}}) {
    for (DType a : kTypes) {
      for (DType b : kTypes) add_pairs(shape, a, b, cases);
      for (double scale : {1.0, 12.0}) add_gelu(shape, scale, a, cases);
    }
  }
  return cases;
}

}  // namespace lockstep::engine::test
