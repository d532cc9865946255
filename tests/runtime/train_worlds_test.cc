// The whole program: what does not change with workers, threads, overlap and micro-steps.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

void expect_close(const std::vector<double>& expected, const std::vector<double>& found,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t step = 0; step < expected.size(); ++step) {
    ASSERT_NEAR(found[step], expected[step], 1e-4 * std::abs(expected[step]))
        << what << ", step " << step + 1;
  }
}

Json fifty_steps() {
  Json job = lenet_job();
  job["steps"] = 50;
  job.erase("checkpoint");
  return job;
}

TEST(TrainWorlds, LossesOfFiftyStepsAreTheSameOnOneToFourWorkers) {
  const TrainSite site;
  const Json job = fifty_steps();
  const std::vector<double> alone = losses(site.done(1, job));
  ASSERT_EQ(alone.size(), 50U);
  EXPECT_LT(alone.back(), 0.9 * alone.front()) << "it should have learned something";
  for (const int workers : {2, 3, 4}) {
    expect_close(alone, losses(site.done(workers, job)), std::to_string(workers) + " workers");
  }
}

TEST(TrainWorlds, LossesOfFiftyStepsAreTheSameInOneTwoAndFourMicroSteps) {
  const TrainSite site;
  Json job = fifty_steps();
  const std::vector<double> whole = losses(site.done(2, job));
  for (const int accumulate : {2, 4}) {
    job["accumulate"] = accumulate;
    expect_close(whole, losses(site.done(2, job)), std::to_string(accumulate) + " micro-steps");
  }
}

TEST(TrainWorlds, EvaluationCountsEverySampleOnce) {
  const TrainSite site;
  Json job = lenet_job();
  job["data"]["eval"] = {{"format", "synthetic"}, {"samples", 1000}};
  job["steps"] = 2;
  job["eval_every_steps"] = 1;
  std::optional<Json> alone;
  for (const int workers : {1, 2, 3, 4}) {
    const std::filesystem::path run = site.done(workers, job);
    const Json eval = summary(run).at("eval");
    EXPECT_EQ(eval.at("samples"), 1000) << workers << " workers";
    if (!alone) alone = eval;
    EXPECT_NEAR(eval.at("loss"), alone->at("loss"), 1e-4);
    EXPECT_NEAR(eval.at("accuracy"), alone->at("accuracy"), 0.002);
    int evaluations = 0;
    for (const Json& record : metrics(run)) evaluations += record.contains("eval_loss") ? 1 : 0;
    EXPECT_EQ(evaluations, 2);
  }
}

TEST(TrainWorlds, FashionMnistIsEvaluatedOnAllItsTestImages) {
  const std::filesystem::path data = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const TrainSite site;
  Json job = lenet_job();
  const auto set = [&data](const std::string& part) {
    return Json{{"format", "idx"},
                {"images", data / (part + "-images-idx3-ubyte.gz")},
                {"labels", data / (part + "-labels-idx1-ubyte.gz")}};
  };
  job["data"]["train"] = set("t10k");
  job["data"]["eval"] = set("t10k");
  job["steps"] = 3;
  for (const int workers : {1, 3}) {
    EXPECT_EQ(summary(site.done(workers, job)).at("eval").at("samples"), 10'000) << workers;
  }
}

class TrainBits : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static Json job() {
    return std::string(GetParam()) == "lenet" ? lenet_job() : resnet_job();
  }
};

TEST_P(TrainBits, TheSameWorldTwiceAndAnyNumberOfLoaderThreadsGiveTheSameBits) {
  const TrainSite site;
  Json changed = job();
  const auto first = saved_at(site.done(2, changed), 12);
  EXPECT_EQ(difference(first, saved_at(site.done(2, changed), 12)), "");
  for (const int threads : {0, 3}) {
    changed["data"]["threads"] = threads;
    EXPECT_EQ(difference(first, saved_at(site.done(2, changed), 12)), "") << threads;
  }
  changed["seed"] = 2;
  EXPECT_NE(difference(first, saved_at(site.done(2, changed), 12)), "");
}

TEST_P(TrainBits, ReductionAfterBackwardGivesTheSameBitsAsDuringIt) {
  const TrainSite site;
  Json changed = job();
  const auto overlapped = saved_at(site.done(2, changed), 12);
  changed["parallel"]["overlap"] = false;
  EXPECT_EQ(difference(overlapped, saved_at(site.done(2, changed), 12)), "");
}

TEST_P(TrainBits, WithoutReductionEachWorkerDoesTheSameStepOnItsShare) {
  const TrainSite site;
  Json alone = job();
  alone["data"]["eval"] = {{"format", "synthetic"}, {"samples", 50}};
  alone["parallel"]["synchronise"] = false;
  const std::filesystem::path run = site.done(2, alone);
  const Json plan = Json::parse(launcher::contents(run / "plan.json"));
  EXPECT_EQ(plan.at("micro_batch"), alone.at("data").at("batch").get<int>() / 2);
  EXPECT_EQ(summary(run).at("world"), 2);
  EXPECT_EQ(summary(run).at("eval").at("samples"), 50);
  EXPECT_EQ(losses(run).size(), 12U);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainBits, testing::Values("lenet", "resnet"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lockstep::runtime
