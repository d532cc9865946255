#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/cpu/optimizer.h"

namespace lockstep::engine::cpu {
namespace {

struct Slice {
  std::vector<float> weight, gradient, state0, state1;

  explicit Slice(std::size_t count) : weight(count), gradient(count), state0(count), state1(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(i);
      weight[i] = 0.37F + 0.001F * x;
      gradient[i] = 0.11F - 0.0007F * x;
      state0[i] = 0.05F + 0.0003F * x;
      state1[i] = 0.01F + 0.0001F * x;
    }
  }
  UpdateRange range(std::size_t begin, std::size_t end) {
    return {.weight = weight.data() + begin,
            .gradient = gradient.data() + begin,
            .state0 = state0.data() + begin,
            .state1 = state1.data() + begin,
            .count = end - begin};
  }
  friend bool operator==(const Slice&, const Slice&) = default;
};

std::vector<UpdateRule> rules() {
  return {{.kind = UpdateRule::Kind::sgd, .momentum = 0.9, .weight_decay = 0.01},
          {.kind = UpdateRule::Kind::sgd, .momentum = 0.9, .nesterov = true},
          {.kind = UpdateRule::Kind::adamw,
           .beta1 = 0.9,
           .beta2 = 0.95,
           .epsilon = 1e-8,
           .weight_decay = 0.01}};
}

constexpr double kEarly[4] = {1, 64, 8, 0};
constexpr double kLate[2] = {4, 0.3};
constexpr StepState kState{.step = 8, .applied = 7, .learning_rate = 0.0123F};

TEST(Update, BitsDoNotDependOnHowABucketIsCut) {
  constexpr std::size_t kCount = 331;
  const UpdateWords words{.state = &kState, .early = kEarly, .late = kLate};
  for (const UpdateRule& rule : rules()) {
    Slice whole(kCount);
    update_range(rule, words, whole.range(0, kCount));
    for (std::size_t cut = 1; cut < 70; ++cut) {
      Slice parts(kCount);
      for (std::size_t begin = 0; begin < kCount; begin += cut) {
        update_range(rule, words, parts.range(begin, std::min(kCount, begin + cut)));
      }
      ASSERT_EQ(parts, whole) << "cut every " << cut << " elements";
    }
  }
}

TEST(Update, ASkippedStepTouchesNothing) {
  constexpr double kSkipped[4] = {1, 64, 8, 1};
  for (const UpdateRule& rule : rules()) {
    Slice slice(50);
    update_range(rule, {.state = &kState, .early = kSkipped}, slice.range(0, 50));
    EXPECT_EQ(slice, Slice(50));
  }
}

TEST(Update, TheFirstMomentumIsTheGradient) {
  Slice slice(20);
  std::fill(slice.state0.begin(), slice.state0.end(), 0.0F);
  update_range({.kind = UpdateRule::Kind::sgd, .momentum = 0.9},
               {.state = &kState, .early = kEarly}, slice.range(0, 20));
  EXPECT_EQ(slice.state0, slice.gradient);
}

}  // namespace
}  // namespace lockstep::engine::cpu
