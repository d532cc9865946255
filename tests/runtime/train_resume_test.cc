// The whole program: a run that was killed goes on as if it had not been.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

using launcher::eventually;
using launcher::Launched;

struct Case {
  const char* name;
  const char* model;
  const char* optimizer;
  int accumulate;
  int killed_rank;
  // As many as leave the time to kill a worker in mid-run.
  int steps;
  const char* precision = "fp32";
};

std::ostream& operator<<(std::ostream& out, const Case& test) {
  return out << test.name;
}

Json job_of(const Case& test) {
  const std::string model = test.model;
  Json job = model == "lenet" ? lenet_job() : model == "resnet" ? resnet_job() : gpt_job();
  job["precision"] = test.precision;
  job["optimizer"]["kind"] = test.optimizer;
  job["optimizer"]["learning_rate"] = {{"schedule", "cosine"}, {"peak", 0.002}};
  job["accumulate"] = test.accumulate;
  job["steps"] = test.steps;
  job["log_every_steps"] = 5;
  job["checkpoint"] = {{"every_steps", 10}, {"keep", 1000}};
  return job;
}

// Starts the job and kills a worker after the second checkpoint; the run's folder.
std::filesystem::path killed_run(const TrainSite& site, const Json& job, int rank) {
  Launched run(site.launch(2, job));
  const std::filesystem::path link = site.runs() / std::string(job.at("name")) / "latest";
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(saved_at(link, 20)); })) << run.err();
  const pid_t worker = worker_of(run, rank);
  EXPECT_GT(worker, 0) << run.out() << run.err();
  if (worker > 0) ::kill(worker, SIGKILL);
  EXPECT_EQ(run.wait(), 137) << run.out() << run.err();
  EXPECT_EQ(count(run.err(), "error: rank " + std::to_string(rank) + " (host "), 1) << run.err();
  EXPECT_TRUE(run.processes().empty());
  const Json ended = summary(site.latest(job.at("name")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at("exit").at("code"), 137);
  EXPECT_EQ(ended.at("exit").at("rank"), rank);
  EXPECT_TRUE(ended.at("ended").is_number());
  EXPECT_GE(ended.at("steps"), 10) << "as far as it was known";
  return site.latest(job.at("name"));
}

// The resumed run's metrics.jsonl goes on from the checkpoint to the end.
void expect_each_step_once(const std::filesystem::path& run, int steps) {
  const std::vector<Json> records = metrics(run);
  ASSERT_FALSE(records.empty());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at("step"), steps - 5 * static_cast<int>(records.size() - 1 - i));
  }
}

class TrainResume : public testing::TestWithParam<Case> {};

TEST_P(TrainResume, AKilledRunResumesToTheSameBits) {
  const TrainSite site, elsewhere;
  const int steps = GetParam().steps;
  Json job = job_of(GetParam());
  const std::filesystem::path whole = elsewhere.done(2, job);
  const std::filesystem::path killed = killed_run(site, job, GetParam().killed_rank);

  job["resume"] = "auto";
  Launched resumed(site.launch(2, job));
  ASSERT_EQ(resumed.wait(), 0) << resumed.err();
  const std::filesystem::path run = site.latest(job.at("name"));
  EXPECT_NE(resumed.out().find("resuming at step "), std::string::npos) << resumed.out();
  EXPECT_NE(resumed.out().find(killed.string()), std::string::npos) << resumed.out();
  EXPECT_EQ(resumed.out().find("another plan"), std::string::npos) << resumed.out();
  EXPECT_EQ(difference(saved_at(whole, steps), saved_at(run, steps)), "");
  expect_each_step_once(run, steps);
  EXPECT_EQ(losses(run).back(), losses(whole).back());

  Launched anew(site.launch(2, job));
  EXPECT_TRUE(eventually([&anew] {
    return anew.out().find("starting at step 0") != std::string::npos;
  })) << "what the killed run began has been finished\n"
      << anew.out();
  anew.signal(SIGINT);
  EXPECT_EQ(anew.wait(), 130) << anew.err();

  job["resume"] = saved_at(killed, 10);
  EXPECT_EQ(difference(saved_at(whole, steps), saved_at(site.done(2, job), steps)), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, TrainResume,
                         testing::Values(Case{"lenet_adamw", "lenet", "adamw", 2, 1, 200},
                                         Case{"lenet_sgd", "lenet", "sgd", 2, 0, 200},
                                         Case{"resnet_adamw", "resnet", "adamw", 1, 0, 60},
                                         Case{"resnet_sgd", "resnet", "sgd", 1, 1, 60},
                                         Case{"resnet_bf16", "resnet", "sgd", 1, 0, 60, "bf16"},
                                         Case{"gpt_bf16", "gpt", "adamw", 2, 1, 120, "bf16"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TrainResume, AutoStartsAnewWhereTheRunIsDoneOrOfAnotherJob) {
  const TrainSite site;
  Json job = lenet_job();
  job["resume"] = "auto";
  const std::vector<double> first = losses(site.done(1, job));
  EXPECT_EQ(first.size(), 12U);
  EXPECT_EQ(losses(site.done(1, job)), first) << "the finished run was gone on from";

  job["steps"] = 100'000;  // interrupted, so unfinished
  Launched interrupted(site.train(job));
  const std::filesystem::path link = site.runs() / "lenet" / "latest";
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(saved_at(link, 16)); }));
  interrupted.signal(SIGINT);
  ASSERT_EQ(interrupted.wait(), 130) << interrupted.err();
  job["steps"] = 12;
  EXPECT_EQ(losses(site.done(1, job)), first) << "the other job's run was gone on from";
}

TEST(TrainResume, ACheckpointThatCannotBeUsedIsNamedOnce) {
  const TrainSite site;
  Json job = lenet_job();
  const std::filesystem::path saved = saved_at(site.done(1, job), 12);
  const auto failure = [&site](const Json& wrong) {
    Launched run(site.launch(2, wrong));
    EXPECT_EQ(run.wait(), 1) << run.err();
    EXPECT_EQ(count(run.err(), "] error: "), 1) << run.err();
    EXPECT_EQ(summary(site.latest("lenet")).at("exit").at("rank"), 0);
    return run.err();
  };
  job["resume"] = "no/such/checkpoint";
  EXPECT_NE(failure(job).find("no/such/checkpoint"), std::string::npos);
  job["resume"] = saved;
  job["model"]["classes"] = 11;
  EXPECT_NE(failure(job).find("the model's is"), std::string::npos);
  job["model"]["classes"] = 10;
  job["data"]["batch"] = 480;
  EXPECT_NE(failure(job).find("of its epoch, which now has 2"), std::string::npos);
  job["data"]["batch"] = 96;
  std::filesystem::resize_file(saved / "model.safetensors", 1000);
  EXPECT_NE(failure(job).find("model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::runtime
