// Softmax and cross-entropy. A sample of weight 0 is padding: it adds nothing and has no gradient,
// whatever its logits are. A label that is no class makes the loss NaN, so that nothing is updated.
#include <cmath>
#include <limits>

#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

struct Totals {
  double loss = 0, weight = 0, correct = 0;
};

struct Row {
  float lse;
  double loss;
  bool correct;
};

Row row_of(const float* logits, std::int64_t classes, std::int32_t label) {
  std::int64_t largest = 0;
  for (std::int64_t k = 1; k < classes; ++k) {
    if (logits[k] > logits[largest]) largest = k;
  }
  const float peak = logits[largest];
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) sum += static_cast<double>(std::exp(logits[k] - peak));
  const double log_sum = std::log(sum);
  const bool known = label >= 0 && label < classes;
  return {.lse = static_cast<float>(static_cast<double>(peak) + log_sum),
          .loss = known ? log_sum + (static_cast<double>(peak) - static_cast<double>(logits[label]))
                        : std::numeric_limits<double>::quiet_NaN(),
          .correct = largest == label};
}

Kernel bind_forward(const Binding& b) {
  return [logits = b.in<float>(0), labels = b.in<std::int32_t>(1), weights = b.in<float>(2),
          totals = b.out<double>(0), lse = b.out<float>(1), samples = b.input(0).shape[0],
          classes = b.input(0).shape[1]] {
    Totals sums;
    for (std::int64_t i = 0; i < samples; ++i) {
      const double weight = static_cast<double>(weights[i]);
      lse[i] = 0;
      if (weight == 0) continue;
      const Row row = row_of(logits + i * classes, classes, labels[i]);
      lse[i] = row.lse;
      sums.loss += weight * row.loss;
      sums.weight += weight;
      sums.correct += row.correct ? weight : 0.0;
    }
    totals[0] = sums.loss;
    totals[1] = sums.weight;
    totals[2] = sums.correct;
  };
}

// `dlogits` may be `logits`.
Kernel bind_backward(const Context& context, const Binding& b) {
  return [context, logits = b.in<float>(0), lse = b.in<float>(1), labels = b.in<std::int32_t>(2),
          weights = b.in<float>(3), state = b.in<StepState>(4), dlogits = b.out<float>(0),
          samples = b.input(0).shape[0], classes = b.input(0).shape[1]] {
    constexpr std::int64_t kRows = 32;
    for_ranges(context.threads, samples, kRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* from = logits + i * classes;
        float* to = dlogits + i * classes;
        const float scale = weights[i] == 0 ? 0.0F : weights[i] / state->global_weight;
        for (std::int64_t k = 0; k < classes; ++k) {
          to[k] = scale == 0 ? 0.0F : scale * std::exp(from[k] - lse[i]);
        }
        if (labels[i] >= 0 && labels[i] < classes) to[labels[i]] -= scale;
      }
    });
  };
}

}  // namespace

Family loss_kernels(const Context& context) {
  return {{.op = "softmax_cross_entropy", .bind = bind_forward},
          {.op = "softmax_cross_entropy_backward",
           .bind = [context](const Binding& b) { return bind_backward(context, b); }}};
}

}  // namespace lockstep::engine::cpu
