#include <fmt/format.h>

#include <cmath>

#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

struct Norm {
  std::int64_t rows, columns;
  DType type;      // of x, the residual and dy
  DType sum_type;  // of the stream: their sum, and a further gradient of it
};

// Multiples of 1/64, so that the sum of two is a bf16 number: it is normalised as it is stored.
Tensor coarse_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor = random_tensor(shape, seed);
  for (double& v : tensor.values) v = std::round(v * 64) / 64;
  return tensor;
}

void add_cases(const Norm& n, bool with_residual, std::vector<ConformanceCase>& cases) {
  const Shape shape{n.rows, n.columns};
  const Operand x = stored(coarse_tensor(shape, 1), n.type);
  const Operand residual = with_residual ? stored(coarse_tensor(shape, 2), n.type) : Operand();
  const Operand gamma{random_tensor({n.columns}, 3), DType::f32, Role::parameter};
  const Operand beta{random_tensor({n.columns}, 4), DType::f32, Role::parameter};
  const std::string name = fmt::format("{}_{}_{}{}", shape.text(), name_of(n.type),
                                       name_of(n.sum_type), with_residual ? "_residual" : "");
  NodeCase forward{.name = name,
                   .op = "layer_norm",
                   .attributes = {{"epsilon", 1e-5}},
                   .inputs = {x, residual, gamma, beta},
                   .stored_as = {n.type, DType::f32}};
  if (with_residual) forward.stored_as.push_back(n.sum_type);
  cases.push_back(forward_case(forward, 8));
  if (with_residual) return;  // its backward op is that of the sum alone

  const Operand dy = stored(random_tensor(shape, 5), n.type);
  const Tensors inputs = tensors_of(forward);
  const Tensor statistics = rounded(evaluate(forward, inputs)[1]);
  for (const Operand& more : {Operand(), stored(random_tensor(shape, 6), n.sum_type)}) {
    const Functional loss = [out = weighted_output(forward, dy.tensor), more](const Tensors& of) {
      double sum = out(of);
      for (std::size_t i = 0; i < more.tensor.values.size(); ++i) {
        sum += of[0].values[i] * more.tensor.values[i];
      }
      return sum;
    };
    cases.push_back(gradient_case({.name = name + (more.tensor.absent() ? "" : "_more"),
                                   .op = "layer_norm_backward",
                                   .inputs = {x, {statistics}, gamma, dy, more},
                                   .stored_as = {n.type}},
                                  {.loss = loss, .inputs = inputs, .variables = {0, 2, 3}}, 64));
  }
}

}  // namespace

std::vector<ConformanceCase> layer_norm_cases() {
  std::vector<ConformanceCase> cases;
  for (bool residual : {false, true}) {
    for (DType type : {DType::f32, DType::bf16}) {
      for (DType sum_type : {DType::f32, DType::bf16}) {
        add_cases({1, 1, type, sum_type}, residual, cases);
        add_cases({3, 5, type, sum_type}, residual, cases);
        add_cases({35, 67, type, sum_type}, residual, cases);
        add_cases({18, 768, type, sum_type}, residual, cases);
      }
    }
  }
  return cases;
}

}  // namespace lockstep::engine::test
