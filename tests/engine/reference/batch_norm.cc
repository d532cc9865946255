#include <algorithm>
#include <cmath>

#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {
namespace {

struct Moments {
  Tensor mean, variance;
  double count;
};

Moments moments_of(const Tensor& statistics) {
  const std::int64_t channels = (statistics.extent(0) - 1) / 2;
  Moments m{Tensor({channels}), Tensor({channels}), statistics[2 * channels]};
  for (std::int64_t c = 0; c < channels; ++c) {
    m.mean[c] = statistics[c] / m.count;
    m.variance[c] = statistics[channels + c] / m.count - m.mean[c] * m.mean[c];
  }
  return m;
}

struct Affine {
  const Tensor &gamma, &beta, &mean, &variance;
};

void normalise(const Attributes& attributes, const Tensor& x, const Affine& affine,
               const Tensor& residual, Tensor& y) {
  const std::int64_t channels = x.extent(3);
  for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
    const std::int64_t c = i % channels;
    const double deviation = std::sqrt(affine.variance[c] + attributes.real("epsilon"));
    double v = affine.gamma[c] * (x[i] - affine.mean[c]) / deviation + affine.beta[c];
    if (!residual.absent()) v += residual[i];
    y[i] = attributes.integer_or("relu", 0) ? std::max(0.0, v) : v;
  }
}

}  // namespace

void batch_norm_statistics(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const Tensor &x = inputs[0], &weights = inputs[1];
  Tensor& statistics = outputs[0];
  const std::int64_t channels = x.extent(3), image = x.shape.elements() / x.extent(0);
  std::fill(statistics.values.begin(), statistics.values.end(), 0.0);
  for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
    if (weights[i / image] != 1) continue;
    statistics[i % channels] += x[i];
    statistics[channels + i % channels] += x[i] * x[i];
    if (i % channels == 0) statistics[2 * channels] += 1;
  }
}

void batch_norm(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Moments m = moments_of(inputs[1]);
  normalise(attributes, inputs[0], {inputs[2], inputs[3], m.mean, m.variance}, inputs[4],
            outputs[0]);
}

void batch_norm_inference(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  normalise(attributes, inputs[0], {inputs[1], inputs[2], inputs[3], inputs[4]}, inputs[5],
            outputs[0]);
}

void batch_norm_parameter_gradients(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const std::int64_t channels = outputs[0].extent(0);
  for (std::int64_t c = 0; c < channels; ++c) {
    outputs[0][c] = inputs[0][channels + c];
    outputs[1][c] = inputs[0][c];
  }
}

void running_statistics(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Moments m = moments_of(inputs[0]);
  const double momentum = attributes.real("momentum");
  const bool skip = !inputs[3].absent() && inputs[3][3] != 0;
  for (std::int64_t c = 0; c < outputs[0].extent(0); ++c) {
    const double unbiased = m.variance[c] * m.count / (m.count - 1);
    outputs[0][c] = skip ? inputs[1][c] : (1 - momentum) * inputs[1][c] + momentum * m.mean[c];
    outputs[1][c] = skip ? inputs[2][c] : (1 - momentum) * inputs[2][c] + momentum * unbiased;
  }
}

}  // namespace lockstep::engine::reference
