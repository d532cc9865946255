#include <fmt/format.h>

#include <string>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

struct Linear {
  std::int64_t rows, inputs, outputs;
  std::string weight_layout = "out_in";
};

std::string name_of(const Linear& l, const Storage& storage) {
  std::string name = fmt::format("{}x{}_to_{}", l.rows, l.inputs, l.outputs);
  if (l.weight_layout != "out_in") name += "_" + l.weight_layout;
  name += fmt::format("_{}_{}", name_of(storage.x), name_of(storage.y));
  return storage.low_arithmetic ? name + "_compute_bf16" : name;
}

// Operands that bf16 holds exactly, so that all arithmetics have the same bounds.
void add_cases(const Linear& l, const Storage& storage, std::vector<ConformanceCase>& cases) {
  const bool in_out = l.weight_layout == "in_out";
  const bool any_low =
      storage.low_arithmetic || storage.x == DType::bf16 || storage.y == DType::bf16;
  auto tensor = [&](const Shape& shape, std::uint64_t seed) {
    const auto exact = random_tensor(shape, seed);
    return any_low ? rounded_to_bf16(exact) : exact;
  };
  const Operand x = stored(tensor({l.rows, l.inputs}, 1), storage.x);
  const auto dy = tensor({l.rows, l.outputs}, 4);
  const Operand weight{tensor(in_out ? Shape{l.inputs, l.outputs} : Shape{l.outputs, l.inputs}, 2),
                       DType::f32, Role::parameter};
  const Operand bias{random_tensor({l.outputs}, 3), DType::f32, Role::parameter};
  Attributes attributes;
  if (in_out) attributes.set("weight_layout", l.weight_layout);
  if (storage.low_arithmetic) attributes.set("compute", std::string("bf16"));
  const NodeCase forward{.name = name_of(l, storage),
                         .op = "linear",
                         .attributes = attributes,
                         .inputs = {x, weight, bias},
                         .stored_as = {storage.y}};
  NodeCase relu = forward;
  relu.name += "_relu";
  relu.attributes.set("relu", std::int64_t{1});
  NodeCase no_bias = forward;
  no_bias.name += "_without_bias";
  no_bias.inputs[2].tensor = {};
  NodeCase weights{.name = forward.name,
                   .op = "linear_backward_weights",
                   .attributes = attributes,
                   .inputs = {x, stored(dy, storage.y)}};
  weights.attributes.set("bias", std::int64_t{1});
  NodeCase weights_alone = weights;
  weights_alone.name = no_bias.name;
  weights_alone.attributes.set("bias", std::int64_t{0});
  const NodeCase data{.name = forward.name,
                      .op = "linear_backward_data",
                      .attributes = attributes,
                      .inputs = {weight, stored(dy, storage.y)},
                      .stored_as = {storage.x}};
  cases.push_back(product_case(forward));
  cases.push_back(product_case(relu));
  cases.push_back(product_case(no_bias));
  cases.push_back(product_gradient_case(weights, forward, dy, {1, 2}));
  cases.push_back(product_gradient_case(weights_alone, no_bias, dy, {1}));
  cases.push_back(product_gradient_case(data, forward, dy, {0}));
}

}  // namespace

std::vector<ConformanceCase> linear_cases() {
  std::vector<ConformanceCase> cases;
  const Storage plain{DType::f32, DType::f32, false};
  for (const Linear& linear : std::initializer_list<Linear>{{1, 1, 1},
                                                            {1, 7, 3},
                                                            {5, 1, 2},
                                                            {3, 33, 17},
                                                            {2, 784, 31},
                                                            {64, 400, 120},
                                                            {64, 120, 84},
                                                            {64, 84, 10},
                                                            {7, 64, 10},
                                                            {13, 9, 70, "in_out"},
                                                            {5, 600, 34, "in_out"},
                                                            {1, 1, 1, "in_out"}}) {
    add_cases(linear, plain, cases);
  }
  // Rows of whole pages; several blocks of columns, several passes over k.
  add_cases({2, 1024, 64, "in_out"}, plain, cases);
  add_cases({2, 512, 550}, plain, cases);
  for (const Storage& storage : mixed_storage()) {
    add_cases({37, 67, 45}, storage, cases);
    add_cases({5, 600, 34, "in_out"}, storage, cases);
  }
  // More rows than have their partial sums kept at a time.
  add_cases({970, 520, 1}, {DType::bf16, DType::bf16, true}, cases);
  return cases;
}

}  // namespace lockstep::engine::test
