#include <algorithm>
#include <cmath>

#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {

void softmax_cross_entropy(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const Tensor &logits = inputs[0], &labels = inputs[1], &weights = inputs[2];
  Tensor &totals = outputs[0], &lse = outputs[1];
  std::fill(totals.values.begin(), totals.values.end(), 0.0);
  const std::int64_t labels_a_sample = logits.extent(0) / weights.extent(0);
  for (std::int64_t n = 0; n < logits.extent(0); ++n) {
    lse[n] = 0;
    const double weight = labels[n] == -1 ? 0 : weights[n / labels_a_sample];
    if (weight == 0) continue;
    std::int64_t largest = 0;
    for (std::int64_t k = 0; k < logits.extent(1); ++k) {
      if (logits.at(n, k) > logits.at(n, largest)) largest = k;
    }
    double sum = 0;
    for (std::int64_t k = 0; k < logits.extent(1); ++k) {
      sum += std::exp(logits.at(n, k) - logits.at(n, largest));
    }
    const auto label = static_cast<std::int64_t>(labels[n]);
    lse[n] = logits.at(n, largest) + std::log(sum);
    totals[0] += weight * (lse[n] - logits.at(n, label));
    totals[1] += weight;
    totals[2] += largest == label ? weight : 0;
  }
}

}  // namespace lockstep::engine::reference
