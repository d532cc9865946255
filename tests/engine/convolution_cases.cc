#include <fmt/format.h>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

struct Convolution {
  std::int64_t n, h, w, inputs, outputs, kernel, stride, pad;
};

std::vector<Convolution> convolutions() {
  return {// tiny and odd
          {1, 1, 1, 1, 1, 1, 1, 0},
          {1, 1, 1, 1, 1, 3, 1, 1},
          {2, 5, 7, 3, 2, 3, 1, 1},
          {1, 7, 6, 5, 4, 3, 2, 1},
          {3, 4, 4, 2, 17, 1, 1, 0},
          {2, 6, 5, 17, 3, 5, 1, 2},
          {2, 5, 5, 3, 5, 1, 2, 0},
          {3, 4, 6, 2, 3, 2, 1, 0},
          // 1x1 on some of the pixels, an even and an odd image
          {2, 6, 8, 5, 33, 1, 2, 0},
          {3, 7, 5, 17, 6, 1, 2, 0},
          {1, 9, 10, 4, 3, 1, 3, 0},
          // few channels
          {3, 9, 33, 2, 6, 5, 1, 2},
          {2, 6, 17, 1, 6, 3, 1, 1},
          {2, 7, 35, 3, 6, 5, 1, 0},
          {5, 8, 9, 6, 16, 5, 1, 0},
          {17, 5, 6, 6, 16, 3, 1, 1},
          {19, 4, 3, 4, 16, 3, 1, 1},
          {70, 3, 4, 5, 16, 3, 1, 1},
          // LeNet
          {3, 28, 28, 1, 6, 5, 1, 2},
          {3, 14, 14, 6, 16, 5, 1, 0},
          // ResNet-8 on 28x28 and on 32x32
          {1, 28, 28, 1, 16, 3, 1, 1},
          {1, 32, 32, 3, 16, 3, 1, 1},
          {1, 28, 28, 16, 16, 3, 1, 1},
          {1, 28, 28, 16, 32, 3, 2, 1},
          {1, 28, 28, 16, 32, 1, 2, 0},
          {1, 14, 14, 32, 32, 3, 1, 1},
          {1, 14, 14, 32, 64, 3, 2, 1},
          {1, 7, 7, 64, 64, 3, 1, 1}};
}

std::string name_of(const Convolution& c) {
  return fmt::format("{}x{}x{}x{}_to_{}_kernel{}_stride{}_pad{}", c.n, c.h, c.w, c.inputs,
                     c.outputs, c.kernel, c.stride, c.pad);
}

void add_cases(const Convolution& c, std::vector<ConformanceCase>& cases) {
  const auto x = random_tensor({c.n, c.h, c.w, c.inputs}, 1);
  const auto w = random_tensor({c.outputs, c.inputs, c.kernel, c.kernel}, 2);
  const auto b = random_tensor({c.outputs}, 3);
  const Attributes window{{"stride", c.stride}, {"pad", c.pad}};
  NodeCase forward{
      .name = name_of(c),
      .op = "conv2d",
      .attributes = window,
      .inputs = {{x}, {w, DType::f32, Role::parameter}, {b, DType::f32, Role::parameter}}};
  const auto dy = random_tensor(evaluate(forward, {x, w, b})[0].shape, 4);
  Attributes weights = window;
  weights.set("kernel_h", c.kernel);
  weights.set("kernel_w", c.kernel);
  weights.set("bias", std::int64_t{1});
  Attributes data = window;
  data.set("height", c.h);
  data.set("width", c.w);
  cases.push_back(product_case(forward));
  cases.push_back(product_gradient_case({.name = name_of(c),
                                         .op = "conv2d_backward_weights",
                                         .attributes = weights,
                                         .inputs = {{x}, {dy}}},
                                        forward, dy, {1, 2}));
  cases.push_back(product_gradient_case({.name = name_of(c),
                                         .op = "conv2d_backward_data",
                                         .attributes = data,
                                         .inputs = {{w, DType::f32, Role::parameter}, {dy}}},
                                        forward, dy, {0}));
  NodeCase no_bias = forward;
  no_bias.name += "_without_bias";
  no_bias.inputs[2].tensor = {};
  weights.set("bias", std::int64_t{0});
  cases.push_back(product_case(no_bias));
  if (c.n == 1 && c.h > 7) return;  // the large ones once
  cases.push_back(product_gradient_case({.name = name_of(c) + "_without_bias",
                                         .op = "conv2d_backward_weights",
                                         .attributes = weights,
                                         .inputs = {{x}, {dy}}},
                                        no_bias, dy, {1}));
}

// Operands that bf16 holds exactly, so that all arithmetics have the same bounds.
void add_stored_cases(const Convolution& c, const Storage& storage,
                      std::vector<ConformanceCase>& cases) {
  const auto x = rounded_to_bf16(random_tensor({c.n, c.h, c.w, c.inputs}, 1));
  const Operand w{rounded_to_bf16(random_tensor({c.outputs, c.inputs, c.kernel, c.kernel}, 2)),
                  DType::f32, Role::parameter};
  const Operand b{random_tensor({c.outputs}, 3), DType::f32, Role::parameter};
  Attributes window{{"stride", c.stride}, {"pad", c.pad}};
  if (storage.low_arithmetic) window.set("compute", std::string("bf16"));
  const std::string name =
      fmt::format("{}_{}_{}{}", name_of(c), engine::name_of(storage.x), engine::name_of(storage.y),
                  storage.low_arithmetic ? "_compute_bf16" : "");
  NodeCase forward{.name = name,
                   .op = "conv2d",
                   .attributes = window,
                   .inputs = {stored(x, storage.x), w, b},
                   .stored_as = {storage.y}};
  const auto dy =
      rounded_to_bf16(random_tensor(evaluate(forward, {x, w.tensor, b.tensor})[0].shape, 4));
  Attributes weights = window;
  weights.set("kernel_h", c.kernel);
  weights.set("kernel_w", c.kernel);
  weights.set("bias", std::int64_t{1});
  Attributes data = window;
  data.set("height", c.h);
  data.set("width", c.w);
  cases.push_back(product_case(forward));
  cases.push_back(product_gradient_case({.name = name,
                                         .op = "conv2d_backward_weights",
                                         .attributes = weights,
                                         .inputs = {stored(x, storage.x), stored(dy, storage.y)}},
                                        forward, dy, {1, 2}));
  cases.push_back(product_gradient_case({.name = name,
                                         .op = "conv2d_backward_data",
                                         .attributes = data,
                                         .inputs = {w, stored(dy, storage.y)},
                                         .stored_as = {storage.x}},
                                        forward, dy, {0}));
}

// By kind: general, strided, 1x1, 1x1 on some pixels, few channels; then a batch that is converted
// in several pieces.
void add_stored_cases(std::vector<ConformanceCase>& cases) {
  for (const Convolution& c : std::initializer_list<Convolution>{{2, 5, 6, 16, 32, 3, 1, 1},
                                                                 {3, 7, 5, 5, 17, 3, 2, 1},
                                                                 {2, 4, 5, 7, 18, 1, 1, 0},
                                                                 {2, 5, 6, 16, 9, 1, 2, 0},
                                                                 {2, 9, 9, 1, 6, 5, 1, 2}}) {
    for (const Storage& storage : mixed_storage()) add_stored_cases(c, storage, cases);
  }
  // More outputs than one pass over them sums, on some pixels.
  add_stored_cases({2, 5, 6, 16, 1100, 1, 2, 0}, {DType::f32, DType::f32, false}, cases);
  add_stored_cases({3, 34, 64, 1, 192, 2, 1, 0}, {DType::bf16, DType::bf16, true}, cases);
}

}  // namespace

std::vector<ConformanceCase> convolution_cases() {
  std::vector<ConformanceCase> cases;
  add_stored_cases(cases);
  for (const Convolution& convolution : convolutions()) add_cases(convolution, cases);
  return cases;
}

}  // namespace lockstep::engine::test
