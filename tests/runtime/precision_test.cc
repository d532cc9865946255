// Training in bf16 beside the same training in fp32.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/models/models.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

std::vector<double> losses_in(engine::Precision precision) {
  RankSetup setup;
  setup.model = engine::models::imagenet_resnet({.depth = 18, .width = 16, .classes = 10});
  setup.sample = {64, 64, 3};
  setup.batch = 32;
  setup.optimizer.schedule.peak = 0.003;
  setup.precision = precision;
  return losses(setup, 1, 12);
}

double mean(std::vector<double>::const_iterator begin, std::vector<double>::const_iterator end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

TEST(Precision, ResNetsLossesInBf16FollowThoseInFp32) {
  const std::vector<double> exact = losses_in(engine::Precision::fp32);
  const std::vector<double> low = losses_in(engine::Precision::bf16);
  EXPECT_LT(mean(exact.end() - 3, exact.end()), 0.95 * mean(exact.begin(), exact.begin() + 3))
      << "nothing was learnt, so nothing was compared";
  for (std::size_t step = 0; step < exact.size(); ++step) {
    EXPECT_NEAR(low[step] / exact[step], 1, 0.08) << "step " << step;
  }
  EXPECT_NEAR(mean(low.begin(), low.end()) / mean(exact.begin(), exact.end()), 1, 0.015);
  EXPECT_NE(low, exact) << "both ran in fp32";
}

}  // namespace
}  // namespace lockstep::runtime::test
