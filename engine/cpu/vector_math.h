// exp, sigmoid and the normal distribution, written without branches and calls, so that the
// compiler vectorises loops over them. Used inside LOCKSTEP_MULTIVERSION functions, never in a
// lambda there.
//
// A NaN gives a NaN. Polynomials: exp as in Cephes (expf); the normal distribution after
// Abramowitz and Stegun 7.1.26.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep::engine::cpu {

// Within 2e-7 of the value, relatively; 0 below -87, as at 88.72 above that.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kLowest = -87.5F, kHighest = 88.72283F;
  constexpr float kLog2E = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kToInteger = 12582912.0F;  // 1.5 * 2^23: the sum's low bits are the integer
  const float bounded = x < kLowest ? kLowest : (x > kHighest ? kHighest : x);
  const float shifted = bounded * kLog2E + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // 2^n as twice 2^(n-1), since 2^128 is no float; 0 for the lowest n, which is -126. (A second
  // comparison of x would make a branch of the first, and masks of everything between.)
  const auto half_power = (std::bit_cast<std::uint32_t>(shifted) + 126U) << 23;
  return p * std::bit_cast<float>(half_power) * 2.0F;
}

// 1 / (1 + exp(-x)); tanh(x) is 2 * sigmoid_of(2x) - 1.
[[gnu::always_inline]] inline float sigmoid_of(float x) {
  return 1.0F / (1.0F + exp_of(-x));
}

// The standard normal distribution: the probability of a value below x, within 2e-7, and the
// density at x.
struct Normal {
  float below;
  float density;
};
[[gnu::always_inline]] inline Normal normal_at(float x) {
  constexpr float kInverseSqrt2 = 0.70710678F, kInverseSqrt2Pi = 0.39894228F;
  const float size = x < 0.0F ? -x : x;
  const float t = 1.0F / (1.0F + 0.3275911F * kInverseSqrt2 * size);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float bell = exp_of(-0.5F * x * x);
  const float tail = 0.5F * p * t * bell;
  return {x < 0.0F ? tail : 1.0F - tail, bell * kInverseSqrt2Pi};
}

}  // namespace lockstep::engine::cpu
