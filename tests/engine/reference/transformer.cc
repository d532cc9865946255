// What a transformer is made of. Random numbers are those of engine/device/random_bits.h, which a
// test of its own compares with published ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/device/random_bits.h"
#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {
namespace {

// 0, or what is kept is multiplied by.
double drop_factor(const SampleRandom& random, const DropRule& rule, std::int64_t element) {
  return random.word(element) < rule.threshold ? 0.0 : static_cast<double>(rule.scale);
}

SampleRandom random_of(const Attributes& attributes, const Tensor& rows, const Tensor& state,
                       std::int64_t sample) {
  return {state_of(state), attributes.integer("stream"), static_cast<std::int32_t>(rows[sample])};
}

}  // namespace

void embedding(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const Tensor &tokens = inputs[0], &table = inputs[1], &positions = inputs[2];
  Tensor& out = outputs[0];
  for (std::int64_t r = 0; r < out.extent(0); ++r) {
    const auto token = static_cast<std::int64_t>(tokens[r]);
    const bool known = token >= 0 && token < table.extent(0);
    for (std::int64_t c = 0; c < out.extent(1); ++c) {
      out.at(r, c) = known ? table.at(token, c) + positions.at(r % tokens.extent(1), c)
                           : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

void layer_norm(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor &residual = inputs[1], &gamma = inputs[2], &beta = inputs[3];
  Tensor sum = inputs[0];
  if (!residual.absent()) {
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += residual.values[i];
    outputs[2].values = sum.values;
  }
  const std::int64_t columns = sum.extent(1);
  const auto count = static_cast<double>(columns);
  for (std::int64_t r = 0; r < sum.extent(0); ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < columns; ++c) mean += sum.at(r, c) / count;
    for (std::int64_t c = 0; c < columns; ++c) {
      variance += (sum.at(r, c) - mean) * (sum.at(r, c) - mean) / count;
    }
    const double inverse = 1 / std::sqrt(variance + attributes.real("epsilon"));
    outputs[1].at(r, 0) = mean;
    outputs[1].at(r, 1) = inverse;
    for (std::int64_t c = 0; c < columns; ++c) {
      outputs[0].at(r, c) = (sum.at(r, c) - mean) * inverse * gamma[c] + beta[c];
    }
  }
}

void gelu(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const bool by_tanh = attributes.text("approximation") == "tanh";
  for (std::int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double x = inputs[0][i];
    outputs[0][i] =
        by_tanh ? 0.5 * x *
                      (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)))
                : 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  }
}

void attention(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor& qkv = inputs[0];
  Tensor &out = outputs[0], &lse = outputs[1];
  const std::int64_t heads = attributes.integer("heads"), context = attributes.integer("context");
  const std::int64_t channels = qkv.extent(1) / 3, width = channels / heads;
  const double dropout = attributes.real("dropout");
  const DropRule rule(dropout);
  // A query's random numbers fill whole groups.
  const std::int64_t stride =
      (context + SampleRandom::kGroup - 1) / SampleRandom::kGroup * SampleRandom::kGroup;
  for (std::int64_t row = 0; row < qkv.extent(0); ++row) {
    const std::int64_t n = row / context, query = row % context;
    const SampleRandom random =
        dropout > 0 ? random_of(attributes, inputs[1], inputs[2], n) : SampleRandom();
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> p(static_cast<std::size_t>(query + 1));
      for (std::int64_t key = 0; key <= query; ++key) {
        double& score = p[static_cast<std::size_t>(key)];
        for (std::int64_t d = h * width; d < (h + 1) * width; ++d) {
          score += qkv.at(row, d) * qkv.at(n * context + key, channels + d);
        }
        score /= std::sqrt(static_cast<double>(width));
      }
      const double peak = *std::max_element(p.begin(), p.end());
      double sum = 0;
      for (double score : p) sum += std::exp(score - peak);
      const double log_sum = peak + std::log(sum);
      lse[(n * heads + h) * context + query] = log_sum;
      for (std::int64_t d = h * width; d < (h + 1) * width; ++d) out.at(row, d) = 0;
      for (std::int64_t key = 0; key <= query; ++key) {
        double weight = std::exp(p[static_cast<std::size_t>(key)] - log_sum);
        if (dropout > 0) weight *= drop_factor(random, rule, (h * context + query) * stride + key);
        for (std::int64_t d = h * width; d < (h + 1) * width; ++d) {
          out.at(row, d) += weight * qkv.at(n * context + key, 2 * channels + d);
        }
      }
    }
  }
}

void dropout(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const DropRule rule(attributes.real("probability"));
  const std::int64_t samples = inputs[1].extent(0);
  const std::int64_t elements = inputs[0].shape.elements() / samples;
  for (std::int64_t n = 0; n < samples; ++n) {
    const SampleRandom random = random_of(attributes, inputs[1], inputs[2], n);
    for (std::int64_t e = 0; e < elements; ++e) {
      outputs[0][n * elements + e] = inputs[0][n * elements + e] * drop_factor(random, rule, e);
    }
  }
}

}  // namespace lockstep::engine::reference
