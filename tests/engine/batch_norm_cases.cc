#include <fmt/format.h>

#include <cmath>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

enum Variable : std::size_t { kX, kGamma, kBeta, kResidual };

struct Layer {
  Shape shape;
  std::int64_t relu;
  bool residual;
  bool padding;  // the last sample is padding
};

// Types in which images are stored; statistics and tables have one type.
struct Images {
  DType x = DType::f32, residual = DType::f32, y = DType::f32;
  [[nodiscard]] std::string name() const {
    return fmt::format("{}_{}_{}", name_of(x), name_of(residual), name_of(y));
  }
};
Operand stored(const Tensor& tensor, DType type) {
  return type == DType::bf16 && !tensor.absent() ? low(tensor) : Operand{rounded(tensor)};
}

NodeCase statistics_node(const Layer& layer, const Tensor& x, const Tensor& weights) {
  return {.name = layer.shape.text(), .op = "batch_norm_statistics", .inputs = {{x}, {weights}}};
}

NodeCase forward_node(const Layer& layer, const std::string& name) {
  return {.name = name,
          .op = "batch_norm",
          .attributes = {{"epsilon", 1e-3}, {"relu", layer.relu}},
          .inputs = {{}, {{}, DType::f64}, {}, {}, {}, {}}};
}

void add_cases(const Layer& layer, const Images& images, std::vector<ConformanceCase>& cases) {
  const std::string name = fmt::format("{}{}{}{}_{}", layer.shape.text(), layer.relu ? "_relu" : "",
                                       layer.residual ? "_residual" : "",
                                       layer.padding ? "_padding" : "", images.name());
  const std::int64_t samples = layer.shape[0], channels = layer.shape[3];
  const Tensor gamma = random_tensor({channels}, 2), beta = random_tensor({channels}, 3);
  Tensor weights = ones_like(Tensor(Shape{samples}));
  if (layer.padding) weights[samples - 1] = 0;
  const Tensor residual =
      layer.residual ? rounded_to_bf16(random_tensor(layer.shape, 5)) : Tensor();

  const NodeCase statistics_of = statistics_node(layer, Tensor(layer.shape), weights);
  const NodeCase forward_of = forward_node(layer, name);
  auto forward = [=](const Tensors& v) {
    const Tensor statistics = evaluate(statistics_of, {v[kX], weights})[0];
    return evaluate(forward_of, {v[kX], statistics, v[kGamma], v[kBeta], v[kResidual], weights})[0];
  };
  // Away from the kink: no sample so near to 0 that the step of a difference carries it over.
  Tensors variables;
  Tensor y;
  for (std::uint64_t seed = 10;; ++seed) {
    variables = {rounded_to_bf16(random_tensor(layer.shape, seed)), gamma, beta, residual};
    y = forward(variables);
    bool clear = true;
    for (double v : y.values) clear = clear && (v == 0 || std::abs(v) > 1e-5);
    if (clear) break;
  }
  const Tensor& x = variables[kX];
  Tensor dy = rounded_to_bf16(random_tensor(layer.shape, 6));
  if (layer.padding) {
    const std::int64_t image = layer.shape.elements() / samples;
    for (std::int64_t i = 0; i < image; ++i) dy[(samples - 1) * image + i] = 0;
  }
  const Functional loss = [forward, dy](const Tensors& v) {
    const Tensor out = forward(v);
    double sum = 0;
    for (std::size_t i = 0; i < dy.values.size(); ++i) sum += dy.values[i] * out.values[i];
    return sum;
  };
  const Tensor statistics = evaluate(statistics_of, {x, weights})[0];
  const Operand x_in = stored(x, images.x), dy_in = stored(dy, images.y),
                residual_in = stored(residual, images.residual);
  // What the backward pass reads of y is its sign.
  const Operand y_in = layer.relu ? stored(y, images.y) : Operand{};
  const Operand statistics_in{statistics, DType::f64};
  const Operand gamma_in{gamma, DType::f32, Role::parameter};
  const Operand beta_in{beta, DType::f32, Role::parameter};

  NodeCase statistics_case = statistics_node(layer, x, weights);
  statistics_case.name = name;
  statistics_case.inputs[0] = x_in;
  // Sums are double, but for short ones of what was bf16.
  cases.push_back(forward_case(statistics_case, images.x == DType::bf16 ? 2 : 1e-6));
  NodeCase forward_inputs = forward_of;
  forward_inputs.inputs = {x_in, statistics_in, gamma_in, beta_in, residual_in, {weights}};
  forward_inputs.stored_as = {images.y};
  cases.push_back(forward_case(forward_inputs, 16));

  // sums: of dy, which is the gradient of beta, and of dy times normalised x, that of gamma.
  Tensor sums({2 * channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    sums[c] = central_difference(loss, variables, kBeta, c, 1e-6);
    sums[channels + c] = central_difference(loss, variables, kGamma, c, 1e-6);
  }
  const Attributes attributes = forward_of.attributes;
  const double sums_bound = 1e-6 * std::sqrt(static_cast<double>(layer.shape.elements()));
  cases.push_back({.node = {.name = name,
                            .op = "batch_norm_backward_statistics",
                            .attributes = attributes,
                            .inputs = {x_in, statistics_in, dy_in, y_in, {weights}}},
                   .expect = [sums, sums_bound] {
                     return std::vector<Expectation>{
                         {some_elements(sums.shape.elements(), INT64_MAX), sums.values,
                          std::vector<double>(sums.values.size(), sums_bound)}};
                   }});
  cases.push_back(forward_case(
      {.name = name, .op = "batch_norm_parameter_gradients", .inputs = {{sums, DType::f64}}}, 1));
  Attributes backward = attributes;
  backward.set("residual", std::int64_t{layer.residual});
  std::vector<DType> backward_types{images.x};
  if (layer.residual) backward_types.push_back(images.residual);
  GradientOf of{.loss = loss, .inputs = variables, .variables = {kX}};
  if (layer.residual) of.variables.push_back(kResidual);
  cases.push_back(gradient_case(
      {.name = name,
       .op = "batch_norm_backward",
       .attributes = backward,
       .inputs = {x_in, statistics_in, gamma_in, {sums, DType::f64}, dy_in, y_in, {weights}},
       .stored_as = backward_types},
      of, 64));

  const Tensor mean = random_tensor({channels}, 7);
  const Tensor variance = absolute(random_tensor({channels}, 8));
  cases.push_back(forward_case({.name = name,
                                .op = "batch_norm_inference",
                                .attributes = attributes,
                                .inputs = {x_in,
                                           gamma_in,
                                           beta_in,
                                           {mean, DType::f32, Role::buffer},
                                           {variance, DType::f32, Role::buffer},
                                           residual_in},
                                .stored_as = {images.y}},
                               16));
  if (images.x != DType::f32) return;  // the others have no images
  for (double skip : {0.0, 1.0}) {
    cases.push_back(forward_case({.name = name + (skip != 0 ? "_skipped" : ""),
                                  .op = "running_statistics",
                                  .attributes = {{"momentum", 0.1}},
                                  .inputs = {statistics_in,
                                             {mean, DType::f32, Role::buffer},
                                             {variance, DType::f32, Role::buffer},
                                             {tensor_of({4}, {1, 2, 3, skip}), DType::f64}}},
                                 2));
  }
}

}  // namespace

std::vector<ConformanceCase> batch_norm_cases() {
  std::vector<ConformanceCase> cases;
  for (const Layer& layer : std::initializer_list<Layer>{{{2, 1, 1, 1}, 0, false, false},
                                                         {{5, 1, 3, 3}, 1, false, true},
                                                         {{3, 2, 2, 17}, 0, true, true},
                                                         {{19, 2, 3, 5}, 1, true, false},
                                                         {{2, 5, 5, 16}, 1, true, false},
                                                         {{2, 3, 3, 32}, 1, false, true},
                                                         {{1, 3, 7, 39}, 1, true, false}}) {
    constexpr DType kHigh = DType::f32, kLow = DType::bf16;
    for (const Images& images : std::initializer_list<Images>{{kHigh, kHigh, kHigh},
                                                              {kLow, kLow, kLow},
                                                              {kHigh, kLow, kHigh},
                                                              {kLow, kHigh, kLow},
                                                              {kLow, kLow, kHigh},
                                                              {kHigh, kHigh, kLow}}) {
      add_cases(layer, images, cases);
    }
  }
  return cases;
}

}  // namespace lockstep::engine::test
