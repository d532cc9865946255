#include "engine/cpu/loss_loops.h"

#include <algorithm>
#include <limits>

#include "engine/bfloat16.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/vector_math.h"

namespace lockstep::engine::cpu {
namespace {

// GCC keeps the lanes in registers where it is told not to unroll the loops over them.
constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kStretch = 64 * kLanes;  // summed in floats

template <class T>
LOCKSTEP_MULTIVERSION float largest_of(const T* logits, std::int64_t classes) {
  float lanes[kLanes];
  for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = -std::numeric_limits<float>::infinity();
  std::int64_t k = 0;
  for (; k + kLanes <= classes; k += kLanes) {
#pragma GCC unroll 1
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const float v = to_float(logits[k + l]);
      lanes[l] = v > lanes[l] ? v : lanes[l];
    }
  }
  for (std::int64_t l = 0; k + l < classes; ++l) {
    const float v = to_float(logits[k + l]);
    lanes[l] = v > lanes[l] ? v : lanes[l];
  }
  return *std::max_element(lanes, lanes + kLanes);
}

template <class T>
LOCKSTEP_MULTIVERSION double sum_of(const T* logits, std::int64_t classes, float peak) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < classes; begin += kStretch) {
    const std::int64_t end = begin + kStretch < classes ? begin + kStretch : classes;
    float lanes[kLanes] = {};
    std::int64_t k = begin;
    for (; k + kLanes <= end; k += kLanes) {
#pragma GCC unroll 1
      for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] += exp_of(to_float(logits[k + l]) - peak);
    }
    for (std::int64_t l = 0; k + l < end; ++l) lanes[l] += exp_of(to_float(logits[k + l]) - peak);
    for (float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

template <class T>
LOCKSTEP_MULTIVERSION void probabilities_of(const T* from, T* to, std::int64_t classes, float lse,
                                            float scale) {
  for (std::int64_t k = 0; k < classes; ++k) {
    store(scale * exp_of(to_float(from[k]) - lse), to[k]);
  }
}

}  // namespace

template <class T>
float SoftmaxLoops<T>::largest(const T* logits, std::int64_t classes) {
  return largest_of(logits, classes);
}
template <class T>
double SoftmaxLoops<T>::sum_of_exponentials(const T* logits, std::int64_t classes, float peak) {
  return sum_of(logits, classes, peak);
}
template <class T>
void SoftmaxLoops<T>::probabilities(const T* from, T* to, std::int64_t classes, float lse,
                                    float scale) {
  probabilities_of(from, to, classes, lse, scale);
}

template struct SoftmaxLoops<float>;
template struct SoftmaxLoops<BFloat16>;

}  // namespace lockstep::engine::cpu
