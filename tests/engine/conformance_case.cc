#include "tests/engine/conformance_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "engine/bfloat16.h"
#include "engine/ops/ops.h"
#include "tests/engine/reference/reference.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;
using reference::Tensors;

constexpr double kEpsilon = static_cast<double>(std::numeric_limits<float>::epsilon());
constexpr std::int64_t kMostDifferences = 8;
// What cancellation in sums of thousands leaves of a difference.
constexpr double kDifferenceError = 1e-7;

std::uint64_t hash(std::uint64_t counter) {  // splitmix64
  counter += 0x9E3779B97F4A7C15u;
  counter = (counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9u;
  counter = (counter ^ (counter >> 27)) * 0x94D049BB133111EBu;
  return counter ^ (counter >> 31);
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (double v : tensor.values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

Tensors map(Tensors tensors, Tensor (*f)(Tensor)) {
  for (Tensor& tensor : tensors) {
    if (!tensor.absent()) tensor = f(std::move(tensor));
  }
  return tensors;
}

double product_bound(double terms, double absolute_sum) {
  return 4 * kEpsilon * std::sqrt(terms) * absolute_sum;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ConformanceCase& c) {
  return out << c.node.op << " " << c.node.name;
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const std::uint64_t bits = hash((seed << 32) + i);
    const double size = static_cast<double>(64 + bits % (4096 - 64)) / 4096.0;
    tensor.values[i] = bits >> 63 ? -size : size;
  }
  return tensor;
}

Tensor distinct_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape);
  constexpr std::uint64_t kPrime = 65521, kFactor = 40503;
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const std::uint64_t rank = ((i + 1) * kFactor + seed * 977) % kPrime;
    tensor.values[i] = (2.0 * static_cast<double>(rank) + 1.0) / 65536.0 - 1.0 + 1.0 / 262144.0;
  }
  return tensor;
}

Tensor tensor_of(const Shape& shape, std::vector<double> values) {
  Tensor tensor(shape);
  tensor.values = std::move(values);
  return tensor;
}

Tensor rounded(Tensor tensor) {
  for (double& v : tensor.values) v = static_cast<double>(static_cast<float>(v));
  return tensor;
}

Operand stored(const Tensor& tensor, DType type) {
  return type == DType::bf16 ? low(tensor) : Operand{tensor, type};
}

Operand state_operand(const StepState& state) {
  std::array<unsigned char, sizeof(StepState)> raw{};
  std::memcpy(raw.data(), &state, raw.size());
  return {.tensor = tensor_of({sizeof(StepState)}, {raw.begin(), raw.end()}),
          .dtype = DType::u8,
          .role = Role::state};
}

Tensor rounded_to_bf16(Tensor tensor) {
  for (double& v : tensor.values) {
    v = static_cast<double>(to_float(to_bfloat16(static_cast<float>(v))));
  }
  return tensor;
}

Operand low(const Tensor& tensor) {
  return {rounded_to_bf16(tensor), DType::bf16};
}

std::vector<Storage> mixed_storage() {
  return {{DType::f32, DType::f32, true},
          {DType::f32, DType::bf16, true},
          {DType::bf16, DType::f32, true},
          {DType::bf16, DType::bf16, true},
          {DType::bf16, DType::bf16, false}};
}

Tensor absolute(Tensor tensor) {
  for (double& v : tensor.values) v = std::abs(v);
  return tensor;
}

Tensor ones_like(const Tensor& tensor) {
  Tensor ones(tensor.shape);
  std::fill(ones.values.begin(), ones.values.end(), 1.0);
  return ones;
}

Tensors tensors_of(const NodeCase& node) {
  Tensors tensors;
  for (const Operand& operand : node.inputs) tensors.push_back(operand.tensor);
  return tensors;
}

Tensors evaluate(const NodeCase& node, const Tensors& inputs) {
  Graph graph;
  Node built{.op = node.op, .name = node.name, .attributes = node.attributes};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    built.inputs.push_back(inputs[i].absent() ? ValueId{}
                                              : graph.add_value({.name = "in" + std::to_string(i),
                                                                 .dtype = node.inputs[i].dtype,
                                                                 .shape = inputs[i].shape}));
  }
  Tensors outputs;
  for (const OutputSpec& spec : standard_ops().find(node.op).infer(graph, built)) {
    outputs.emplace_back(spec.shape);
  }
  reference::find(node.op)(node.attributes, inputs, outputs);
  return outputs;
}

std::vector<std::int64_t> some_elements(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> elements;
  if (count <= most) {
    for (std::int64_t i = 0; i < count; ++i) elements.push_back(i);
    return elements;
  }
  elements = {0, count - 1};
  for (std::int64_t i = 2; i < most; ++i) {
    elements.push_back(static_cast<std::int64_t>(hash(static_cast<std::uint64_t>(i)) %
                                                 static_cast<std::uint64_t>(count)));
  }
  return elements;
}

double central_difference(const Functional& f, Tensors inputs, std::size_t input,
                          std::int64_t element, double h) {
  double& x = inputs[input][element];
  const double middle = x;
  x = middle + h;
  const double above = f(inputs);
  x = middle - h;
  return (above - f(inputs)) / (2 * h);
}

Functional weighted_output(const NodeCase& forward, Tensor dy) {
  return [forward, dy = std::move(dy)](const Tensors& inputs) {
    const Tensors outputs = evaluate(forward, inputs);
    double sum = 0;
    for (std::size_t i = 0; i < dy.values.size(); ++i) sum += dy.values[i] * outputs[0].values[i];
    return sum;
  };
}

ConformanceCase forward_case(NodeCase node, double units) {
  auto expect = [node, units] {
    std::vector<Expectation> expectations;
    for (const Tensor& output : evaluate(node, tensors_of(node))) {
      const double bound = units * kEpsilon * largest_of(output);
      expectations.push_back({some_elements(output.shape.elements(), INT64_MAX), output.values,
                              std::vector<double>(output.values.size(), bound)});
    }
    return expectations;
  };
  return {.node = std::move(node), .expect = expect};
}

ConformanceCase product_case(NodeCase node) {
  auto expect = [node] {
    NodeCase plain = node;  // the bound is that of the sum, before any relu
    if (plain.op == "linear") plain.attributes.set("relu", std::int64_t{0});
    const Tensors inputs = tensors_of(node);
    const Tensor value = evaluate(node, inputs)[0];
    const Tensor sum = evaluate(plain, map(inputs, absolute))[0];
    const Tensor terms = evaluate(plain, map(inputs, [](Tensor t) { return ones_like(t); }))[0];
    Expectation expectation{some_elements(value.shape.elements(), INT64_MAX), value.values, {}};
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      expectation.bounds.push_back(product_bound(terms.values[i], sum.values[i]));
    }
    return std::vector<Expectation>{expectation};
  };
  return {.node = std::move(node), .expect = expect};
}

ConformanceCase gradient_case(NodeCase node, GradientOf of, double units) {
  auto expect = [of = std::move(of), units] {
    std::vector<Expectation> expectations;
    for (std::size_t variable : of.variables) {
      Expectation expectation{
          some_elements(of.inputs[variable].shape.elements(), 4 * kMostDifferences), {}, {}};
      double largest = 0;
      for (std::int64_t element : expectation.elements) {
        expectation.values.push_back(
            central_difference(of.loss, of.inputs, variable, element, of.step));
        largest = std::max(largest, std::abs(expectation.values.back()));
      }
      expectation.bounds.assign(expectation.elements.size(),
                                units * kEpsilon * largest + kDifferenceError);
      expectations.push_back(std::move(expectation));
    }
    return expectations;
  };
  return {.node = std::move(node), .expect = expect};
}

ConformanceCase product_gradient_case(NodeCase node, NodeCase forward, Tensor dy,
                                      std::vector<std::size_t> variables) {
  auto expect = [forward = std::move(forward), dy = std::move(dy),
                 variables = std::move(variables)] {
    const Tensors inputs = tensors_of(forward);
    const Functional loss = weighted_output(forward, dy);
    const Functional absolute_loss = weighted_output(forward, absolute(dy));
    const Functional count = weighted_output(forward, ones_like(dy));
    const Tensors absolute_inputs = map(inputs, absolute);
    const Tensors ones = map(inputs, [](Tensor t) { return ones_like(t); });
    constexpr double kStep = 0.5;  // exact: the op is linear in each input
    std::vector<Expectation> expectations;
    for (std::size_t variable : variables) {
      Expectation expectation{
          some_elements(inputs[variable].shape.elements(), kMostDifferences), {}, {}};
      for (std::int64_t element : expectation.elements) {
        expectation.values.push_back(central_difference(loss, inputs, variable, element, kStep));
        const double sum =
            central_difference(absolute_loss, absolute_inputs, variable, element, kStep);
        const double terms = central_difference(count, ones, variable, element, kStep);
        expectation.bounds.push_back(product_bound(terms, sum) + 1e-9);
      }
      expectations.push_back(std::move(expectation));
    }
    return expectations;
  };
  return {.node = std::move(node), .expect = expect};
}

}  // namespace lockstep::engine::test
