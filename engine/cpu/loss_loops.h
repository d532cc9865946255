// The loops of softmax over one row of logits, which are stored in f32 or bf16.
#pragma once

#include <cstdint>

namespace lockstep::engine::cpu {

template <class T>
struct SoftmaxLoops {
  // The largest logit; NaNs are passed over, but are in the sum.
  static float largest(const T* logits, std::int64_t classes);
  // The sum of exp(logit - peak), in double over sums of fixed stretches.
  static double sum_of_exponentials(const T* logits, std::int64_t classes, float peak);
  // to = scale * exp(from - lse). `to` may be `from`.
  static void probabilities(const T* from, T* to, std::int64_t classes, float lse, float scale);
};

}  // namespace lockstep::engine::cpu
