// Training in bf16 beside the same training in fp32.
#include <gtest/gtest.h>

#include "engine/models/models.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

RankSetup resnet(std::int64_t depth, engine::Precision precision) {
  RankSetup setup;
  setup.model = engine::models::imagenet_resnet({.depth = depth, .width = 16, .classes = 10});
  setup.sample = {64, 64, 3};
  setup.batch = 16;
  setup.optimizer.schedule.peak = 0.01;
  setup.precision = precision;
  return setup;
}

TEST(Precision, ResNetsLossesInBf16FollowThoseInFp32) {
  for (std::int64_t depth : {18, 50}) {
    const std::vector<double> exact = losses(resnet(depth, engine::Precision::fp32), 1, 12);
    const std::vector<double> low = losses(resnet(depth, engine::Precision::bf16), 1, 12);
    EXPECT_LT(exact.back(), 0.8 * exact.front()) << "nothing was learnt, so nothing was compared";
    bool rounded = false;
    for (std::size_t step = 0; step < exact.size(); ++step) {
      EXPECT_NEAR(low[step], exact[step], 0.03 * exact.front())
          << "depth " << depth << " step " << step;
      rounded = rounded || low[step] != exact[step];
    }
    EXPECT_TRUE(rounded) << "both ran in fp32";
  }
}

}  // namespace
}  // namespace lockstep::runtime::test
