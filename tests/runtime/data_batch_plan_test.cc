// Who computes which samples.
#include "runtime/data/batch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

using ::testing::HasSubstr;

// How often each position of the epoch is in a share; checks each step's rows and weight on the
// way.
std::vector<int> visits(const BatchPlan& plan) {
  const BatchPlanOptions& options = plan.options();
  std::vector<int> positions(static_cast<std::size_t>(options.samples));
  for (std::int64_t step = 0; step < plan.steps_per_epoch(); ++step) {
    std::int64_t row = 0;
    for (std::int64_t micro = 0; micro < options.accumulate; ++micro) {
      for (std::int64_t rank = 0; rank < options.world; ++rank) {
        const ShareRange share = plan.share(step, rank, micro);
        EXPECT_EQ(share.first_row, row);
        EXPECT_EQ(share.first_position, step * options.batch + row);
        EXPECT_LE(share.count, plan.capacity());
        row += share.count;
        for (std::int64_t i = 0; i < share.count; ++i) {
          ++positions.at(static_cast<std::size_t>(share.first_position + i));
        }
      }
    }
    EXPECT_EQ(row, plan.global_count(step));
  }
  return positions;
}

TEST(BatchPlan, EverySampleOnceForAnyWorldAndBatch) {
  for (std::int64_t world = 1; world <= 5; ++world) {
    for (const std::int64_t accumulate : {1, 2, 3}) {
      for (const std::int64_t batch : {15, 16, 17, 31, 64}) {
        for (const std::int64_t samples : {64, 100, 101, 193}) {
          const BatchPlan training({samples, batch, world, accumulate, Mode::training});
          const std::vector<int> trained = visits(training);
          const auto whole = static_cast<std::size_t>(samples / batch * batch);
          EXPECT_EQ(training.dropped(), samples % batch);
          for (std::size_t i = 0; i < trained.size(); ++i) EXPECT_EQ(trained[i], i < whole ? 1 : 0);
          const BatchPlan evaluation({samples, batch, world, 1, Mode::evaluation});
          EXPECT_EQ(evaluation.dropped(), 0);
          for (const int count : visits(evaluation)) EXPECT_EQ(count, 1);
        }
      }
    }
  }
}

TEST(BatchPlan, FirstSharesGetOneMore) {
  const BatchPlan plan({100, 11, 2, 2, Mode::training});
  EXPECT_EQ(plan.steps_per_epoch(), 9);
  EXPECT_EQ(plan.capacity(), 3);
  // In the order of (micro, rank).
  EXPECT_EQ(plan.share(1, 0, 0).count, 3);
  EXPECT_EQ(plan.share(1, 1, 0).count, 3);
  EXPECT_EQ(plan.share(1, 0, 1).count, 3);
  EXPECT_EQ(plan.share(1, 1, 1).count, 2);
  EXPECT_EQ(plan.share(1, 1, 1).first_row, 9);
  EXPECT_EQ(plan.share(1, 1, 1).first_position, 20);
}

TEST(BatchPlan, EvaluationPadsItsLastBatch) {
  const BatchPlan plan({10, 8, 4, 1, Mode::evaluation});
  EXPECT_EQ(plan.steps_per_epoch(), 2);
  EXPECT_EQ(plan.capacity(), 2);
  EXPECT_EQ(plan.global_count(0), 8);
  EXPECT_EQ(plan.global_count(1), 2);
  EXPECT_EQ(plan.share(1, 1, 0).count, 1);
  EXPECT_EQ(plan.share(1, 3, 0).count, 0);
}

std::string refusal(const BatchPlanOptions& options) {
  try {
    const BatchPlan plan(options);
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(BatchPlan, MoreWorkersThanSamplesIsAnError) {
  EXPECT_THAT(refusal({3, 8, 4, 1, Mode::training}),
              HasSubstr("the training set has 3 samples for 4 workers x 1 micro-steps"));
  EXPECT_THAT(refusal({3, 8, 4, 1, Mode::evaluation}),
              HasSubstr("the evaluation set has 3 samples"));
  EXPECT_THAT(refusal({100, 7, 4, 2, Mode::training}),
              HasSubstr("a batch of 7 cannot be shared by 4 workers x 2 micro-steps"));
}

TEST(BatchPlan, LessThanOneBatchIsAnError) {
  EXPECT_THAT(refusal({10, 16, 2, 1, Mode::training}), HasSubstr("less than one batch of 16"));
  EXPECT_EQ(BatchPlan({10, 16, 2, 1, Mode::evaluation}).steps_per_epoch(), 1);
  EXPECT_THAT(refusal({10, 0, 2, 1, Mode::training}),
              HasSubstr("batch: expected at least 1, found 0"));
}

}  // namespace
}  // namespace lockstep::runtime::data
