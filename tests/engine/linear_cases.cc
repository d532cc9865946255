#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

struct Linear {
  std::int64_t rows, inputs, outputs;
};

void add_cases(const Linear& l, std::vector<ConformanceCase>& cases) {
  const auto x = random_tensor({l.rows, l.inputs}, 1);
  const auto w = random_tensor({l.outputs, l.inputs}, 2);
  const auto b = random_tensor({l.outputs}, 3);
  const auto dy = random_tensor({l.rows, l.outputs}, 4);
  const std::string name = fmt::format("{}x{}_to_{}", l.rows, l.inputs, l.outputs);
  const Operand weight{w, DType::f32, Role::parameter}, bias{b, DType::f32, Role::parameter};
  const NodeCase forward{.name = name, .op = "linear", .inputs = {{x}, weight, bias}};
  NodeCase relu = forward;
  relu.name += "_relu";
  relu.attributes.set("relu", std::int64_t{1});
  NodeCase no_bias = forward;
  no_bias.name += "_without_bias";
  no_bias.inputs[2].tensor = {};
  cases.push_back(product_case(forward));
  cases.push_back(product_case(relu));
  cases.push_back(product_case(no_bias));
  cases.push_back(product_gradient_case({.name = name,
                                         .op = "linear_backward_weights",
                                         .attributes = {{"bias", std::int64_t{1}}},
                                         .inputs = {{x}, {dy}}},
                                        forward, dy, {1, 2}));
  cases.push_back(product_gradient_case({.name = name + "_without_bias",
                                         .op = "linear_backward_weights",
                                         .attributes = {{"bias", std::int64_t{0}}},
                                         .inputs = {{x}, {dy}}},
                                        no_bias, dy, {1}));
  cases.push_back(product_gradient_case(
      {.name = name, .op = "linear_backward_data", .inputs = {weight, {dy}}}, forward, dy, {0}));
}

}  // namespace

std::vector<ConformanceCase> linear_cases() {
  std::vector<ConformanceCase> cases;
  for (const Linear& linear : std::initializer_list<Linear>{{1, 1, 1},
                                                            {1, 7, 3},
                                                            {5, 1, 2},
                                                            {3, 33, 17},
                                                            {2, 784, 31},
                                                            {64, 400, 120},
                                                            {64, 120, 84},
                                                            {64, 84, 10},
                                                            {7, 64, 10}}) {
    add_cases(linear, cases);
  }
  return cases;
}

}  // namespace lockstep::engine::test
