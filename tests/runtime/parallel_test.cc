// Buckets, the communicate pass and what the verifier makes of its plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/models/models.h"
#include "engine/verify.h"
#include "runtime/parallel/agreement.h"
#include "runtime/parallel/buckets.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::parallel {
namespace {

using test::RankSetup;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr LinkCost kLink{.latency = 10e-6, .seconds_per_byte = 1e-9};

TEST(Buckets, GradientsThatComeTogetherTravelTogether) {
  const std::vector<ReadyGradient> gradients{
      {0, 100}, {1e-6, 100}, {2e-6, 100}, {500e-6, 100}, {501e-6, 100}};
  EXPECT_THAT(group_gradients(gradients, kLink, 0), ElementsAre(3, 2));
}

TEST(Buckets, ABusyLinkIsWaitedForWithMore) {
  // The first takes 1 ms to send; what becomes ready meanwhile goes together, whatever its gaps.
  const std::vector<ReadyGradient> gradients{
      {0, 1'000'000}, {200e-6, 100}, {400e-6, 100}, {900e-6, 100}};
  EXPECT_THAT(group_gradients(gradients, kLink, 0), ElementsAre(1, 3));
}

TEST(Buckets, LastBucketIsSmall) {
  std::vector<ReadyGradient> gradients;
  for (int i = 0; i < 20; ++i) gradients.push_back({i * 100e-6, 50'000});
  EXPECT_EQ(group_gradients(gradients, kLink, 0).back(), 1u);
}

TEST(Buckets, NoneIsLargerThanAllowedUnlessOneGradientIs) {
  const std::vector<ReadyGradient> gradients{{0, 600}, {0, 600}, {0, 5000}, {0, 300}, {0, 300}};
  EXPECT_THAT(group_gradients(gradients, kLink, 1000), ElementsAre(1, 1, 1, 2));
}

TEST(Buckets, NoGradientsNoBuckets) {
  EXPECT_THAT(group_gradients({}, kLink, 0), IsEmpty());
}

struct NamedSetup {
  std::string name;
  RankSetup setup;
};

std::vector<NamedSetup> setups() {
  std::vector<NamedSetup> all;
  for (const bool resnet : {false, true}) {
    for (const int accumulate : {1, 3}) {
      for (const bool clipped : {false, true}) {
        RankSetup setup;
        setup.model =
            resnet ? engine::models::small_resnet({.depth = 8}) : engine::models::lenet(10);
        setup.parallel.batch_norm = BatchNormPolicy::synchronised;
        setup.batch = 48;
        setup.accumulate = accumulate;
        setup.evaluation = true;
        if (clipped) setup.optimizer.clip_norm = 1;
        all.push_back({(resnet ? "ResNet8" : "LeNet") + std::to_string(accumulate) +
                           (clipped ? "Clipped" : ""),
                       setup});
      }
    }
  }
  return all;
}

class Plans : public ::testing::TestWithParam<NamedSetup> {};

TEST_P(Plans, AreSoundAndRefusedWithoutAnyOneEventOrWait) {
  const engine::CompiledJob job = test::compile_for(GetParam().setup, 2);
  int removed = 0;
  for (const auto& [name, plan] : job.plans) {
    ASSERT_THAT(engine::violations(plan), IsEmpty()) << name;
    for (std::size_t i = 0; i < plan.entries.size(); ++i) {
      for (std::size_t wait = 0; wait < plan.entries[i].waits.size(); ++wait) {
        engine::Plan broken = plan;
        broken.entries[i].waits.erase(broken.entries[i].waits.begin() +
                                      static_cast<std::ptrdiff_t>(wait));
        EXPECT_THAT(engine::violations(broken), ::testing::Not(IsEmpty()))
            << name << " without a wait of " << plan.node(plan.entries[i]).name;
        ++removed;
      }
      if (plan.entries[i].records < 0) continue;
      engine::Plan broken = plan;
      broken.entries[i].records = -1;
      EXPECT_THAT(engine::violations(broken), ::testing::Not(IsEmpty()))
          << name << " without the event of " << plan.node(plan.entries[i]).name;
      ++removed;
    }
  }
  EXPECT_GT(removed, 8);
}

TEST_P(Plans, StartEightyPercentOfTheBytesBeforeTheLastGradientIsComputed) {
  const engine::CompiledJob job = test::compile_for(GetParam().setup, 2);
  const auto plan =
      job.plans.find("whole") != job.plans.end() ? job.plans.at("whole") : job.plans.at("last");
  EXPECT_GE(overlapped_share(plan), 0.8);
}

TEST_P(Plans, HoldEveryParameterInOneBucketInTheOrderOfTheBackwardPass) {
  const engine::CompiledJob job = test::compile_for(GetParam().setup, 2);
  std::size_t elements = 0;
  for (const engine::Bucket& bucket : job.placement.buckets()) {
    EXPECT_EQ(bucket.begin, elements);
    EXPECT_GT(bucket.end, bucket.begin);
    elements = bucket.end;
  }
  EXPECT_EQ(elements, job.placement.parameter_elements());
  const std::vector<std::string>& first = job.placement.buckets().front().parameters;
  EXPECT_THAT(first.front(), ::testing::AnyOf(HasSubstr("f3."), HasSubstr("fc.")));
  EXPECT_THAT(job.placement.buckets().back().parameters,
              ::testing::Contains(::testing::AnyOf("c1.weight", "conv1.weight")));
}

INSTANTIATE_TEST_SUITE_P(Models, Plans, ::testing::ValuesIn(setups()),
                         [](const auto& param) { return param.param.name; });

TEST(Plan, WithoutOverlapStartsAllReductionsAfterTheLastGradient) {
  RankSetup setup;
  setup.model = engine::models::lenet(10);
  setup.parallel.overlap = false;
  const engine::CompiledJob job = test::compile_for(setup, 2);
  EXPECT_EQ(overlapped_share(job.plans.at("whole")), 0);
  EXPECT_THAT(engine::violations(job.plans.at("whole")), IsEmpty());
}

TEST(Plan, ActivationsLieWithinTwoPercentOfTheirBound) {
  for (const NamedSetup& named : setups()) {
    for (const auto& [name, plan] : test::compile_for(named.setup, 2).plans) {
      const auto bytes = plan.arena_bytes[static_cast<std::size_t>(engine::Arena::activations)];
      EXPECT_LE(static_cast<double>(bytes),
                1.02 * static_cast<double>(plan.lower_bound_activations))
          << named.name << " " << name;
    }
  }
}

TEST(Agreement, ShowsTheFirstLineThatDiffers) {
  EXPECT_EQ(first_difference("a\nb\nc\n", "a\nx\nc\n"), "line 2: \"b\" here, \"x\" there");
  EXPECT_EQ(first_difference("a\n", "a\nb\n"), "line 2: \"\" here, \"b\" there");
  EXPECT_EQ(first_difference("a", "a"), "no line differs");
}

}  // namespace
}  // namespace lockstep::runtime::parallel
