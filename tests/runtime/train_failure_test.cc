// The whole program: what goes wrong while it trains is said once, by name, and leaves nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>

#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

using launcher::eventually;
using launcher::Launched;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kEndless = 100'000'000;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool trains(const Launched& run) {
  bool begun = false;
  return eventually([&] {
           begun = contains(run.out(), "step 3/");
           return begun || run.processes().empty();
         }) &&
         begun;
}

Json endless_job() {
  Json job = lenet_job();
  job["steps"] = kEndless;
  job.erase("checkpoint");
  return job;
}

TEST(TrainFailure, AStoppedWorkerIsNamedAtTheDeadline) {
  const TrainSite site;
  Json job = endless_job();
  job["parallel"]["deadline_s"] = 2;
  for (const int stopped : {0, 1}) {
    Launched run(site.launch(2, job));
    ASSERT_TRUE(trains(run)) << run.err();
    ASSERT_EQ(::kill(worker_of(run, stopped), SIGSTOP), 0);
    EXPECT_EQ(run.wait(seconds(20)), 1) << run.err();
    EXPECT_TRUE(contains(run.err(), "did not end within 2 s: rank " + std::to_string(stopped)))
        << run.err();
    EXPECT_TRUE(run.processes().empty());
    EXPECT_EQ(summary(site.latest("lenet")).at("exit").at("rank"), 1 - stopped);
  }
}

void expect_finite(const std::filesystem::path& path) {
  checkpoint::PosixFileSystem files;
  const checkpoint::LoadedCheckpoint loaded = checkpoint::load_checkpoint(files, path);
  for (const checkpoint::TensorView& tensor : loaded.content.model) {
    ASSERT_EQ(tensor.dtype, checkpoint::TensorType::f32);
    const auto* values = reinterpret_cast<const float*>(tensor.bytes.data());
    for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
      ASSERT_TRUE(std::isfinite(values[i])) << tensor.name;
    }
  }
}

class Diverged : public testing::TestWithParam<int> {};

TEST_P(Diverged, IsExplainedOnceAndLeavesTheLastGoodCheckpoint) {
  const int workers = GetParam();
  const TrainSite site;
  Json job = lenet_job();
  job["optimizer"] = {{"kind", "sgd"}, {"learning_rate", {{"peak", 1e20}}}};
  job["checkpoint"]["every_steps"] = 1;
  Launched run(workers == 1 ? site.train(job) : site.launch(workers, job));
  EXPECT_EQ(run.wait(), 1) << run.out() << run.err();

  const std::string live = workers == 1 ? "error: step " : "] error: ";
  EXPECT_EQ(count(run.err(), live), 1) << run.err();
  for (const char* part :
       {"the loss is not finite; no parameter was changed", "On rank ", "op linear \"f1\"",
        "tensor \"relu3.out\"", "Lower the learning rate (now 1e+20)"}) {
    EXPECT_TRUE(contains(run.err(), part)) << part << " in\n" << run.err();
  }
  const std::filesystem::path folder = site.latest("lenet");
  const Json ended = summary(folder);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at("exit").at("code"), 1);
  const std::int64_t steps = ended.at("steps");
  EXPECT_TRUE(contains(run.err(), "step " + std::to_string(steps + 1) + ": ")) << run.err();
  expect_finite(saved_at(folder, steps));
  EXPECT_FALSE(std::filesystem::exists(saved_at(folder, steps + 1)));
  EXPECT_EQ(losses(folder).size(), static_cast<std::size_t>(steps));
}

INSTANTIATE_TEST_SUITE_P(Workers, Diverged, testing::Values(1, 2));

TEST(TrainFailure, AFullDiskKeepsTheLastGoodCheckpoint) {
  const TrainSite site;
  // In a mount namespace of its own: the file system goes with the shell.
  const std::string script =
      "mount -t tmpfs -o size=2000k none \"$PLACE\" || exit 77\n"
      "\"$0\" \"$@\"; code=$?; cp -r \"$PLACE\"/lenet \"$KEPT\"; exit $code";
  const std::string own = ::geteuid() == 0 ? "unshare -m" : "unshare -r -m";
  Json job = lenet_job();  // a checkpoint has 745 kB: two fit
  job["checkpoint"] = {{"every_steps", 2}, {"keep", 3}};
  Launched::Setup setup = site.train(job);
  std::filesystem::create_directory(site.runs());
  std::filesystem::create_directory(site.folder() / "kept");
  setup.environment.insert(setup.environment.end(),
                           {"PLACE=" + site.runs().string(),
                            "KEPT=" + (site.folder() / "kept").string(), "SCRIPT=" + script});
  setup.through = {"/bin/sh", "-c", own + " /bin/sh -c \"$SCRIPT\" \"$0\" \"$@\""};
  Launched run(setup);
  const int code = run.wait();
  if (!std::filesystem::exists(site.folder() / "kept" / "lenet")) {
    GTEST_SKIP() << "this user may not mount: " << run.err();
  }
  EXPECT_EQ(code, 0) << run.out() << run.err();
  EXPECT_TRUE(contains(run.out(), "warning: no checkpoint at step 6")) << run.out();
  EXPECT_TRUE(contains(run.out(), "No space left on device")) << run.out();
  EXPECT_TRUE(contains(run.out(), "step 12/12")) << run.out();

  const std::filesystem::path kept = site.folder() / "kept" / "lenet" / "latest";
  checkpoint::PosixFileSystem files;
  checkpoint::CheckpointStore store(files, {.directory = kept / "checkpoints"});
  const auto newest = store.newest_good(checkpoint::Leftovers::keep).newest;
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->step, 4);
  EXPECT_EQ(summary(kept).at("status"), "done");
}

TEST(TrainFailure, AnInterruptEndsALaunchWithinTwoSeconds) {
  const TrainSite site;
  Launched run(site.launch(2, endless_job()));
  ASSERT_TRUE(trains(run)) << run.err();
  const auto begin = steady_clock::now();
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.err();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
  EXPECT_TRUE(run.processes().empty());
  const Json ended = summary(site.latest("lenet"));
  EXPECT_EQ(ended.at("status"), "interrupted");
  EXPECT_EQ(ended.at("exit").at("code"), 130);
  EXPECT_FALSE(contains(run.err(), "error: ")) << run.err();
}

TEST(TrainFailure, AnInterruptEndsALoneWorkerWithinTwoSeconds) {
  const TrainSite site;
  for (const int signal : {SIGINT, SIGTERM}) {
    Launched run(site.train(endless_job()));
    ASSERT_TRUE(trains(run)) << run.err();
    const auto begin = steady_clock::now();
    run.signal(signal);
    EXPECT_EQ(run.wait(), 130) << run.err();
    EXPECT_LT(steady_clock::now() - begin, seconds(2));
    const Json ended = summary(site.latest("lenet"));
    EXPECT_EQ(ended.at("status"), "interrupted");
    EXPECT_EQ(ended.at("exit").at("code"), 130);
    EXPECT_GE(ended.at("steps"), 3);
  }
}

TEST(TrainFailure, AnInterruptDoesNotWaitForALongEvaluation) {
  const TrainSite site;
  Json job = lenet_job();
  job["steps"] = 1;
  job["data"]["eval"] = {{"format", "synthetic"}, {"samples", kEndless}};
  Launched run(site.train(job));
  ASSERT_TRUE(eventually([&run] { return contains(run.out(), "step 1/1"); })) << run.err();
  const auto begin = steady_clock::now();
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.err();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
}

// Two ranks whose jobs differ, as when hosts hold different files.
std::string disagreement(const Json& job, const std::string& setting) {
  const TrainSite site;
  const std::string file = site.write(job);
  Launched run({.args = {"launch", "-n", "2", "--", "sh", "-c",
                         "exec \"$0\" train --set " + setting + " \"$1\"",
                         launcher::lockstep_program(), file},
                .environment = {"OMP_NUM_THREADS=1"}});
  EXPECT_EQ(run.wait(), 1) << run.err();
  EXPECT_EQ(count(run.err(), "] error: "), 1) << run.err();
  EXPECT_FALSE(contains(run.out(), "step 1/")) << run.out();
  return run.err();
}

TEST(TrainFailure, RanksThatWouldTrainDifferentlyAreNamedBeforeTheFirstStep) {
  const std::string rate =
      disagreement(lenet_job(), "optimizer.learning_rate.peak=0.1$LOCKSTEP_RANK");
  EXPECT_TRUE(contains(rate, "rank 1 does not train the same as rank 0: the graph differs at line"))
      << rate;
  EXPECT_TRUE(contains(rate, "peak=0.11 ")) << rate;
  EXPECT_TRUE(contains(rate, "peak=0.1 ")) << rate;

  Json mlp = lenet_job();
  mlp["model"] = {{"kind", "mlp"}};
  const std::string width = disagreement(mlp, "model.hidden=[1$LOCKSTEP_RANK]");
  EXPECT_TRUE(contains(width, "the graph differs at line")) << width;

  const std::string seed = disagreement(lenet_job(), "seed=1$LOCKSTEP_RANK");
  EXPECT_TRUE(contains(seed, "the job differs at line")) << seed;
  EXPECT_TRUE(contains(seed, "/seed 11")) << seed;
  EXPECT_TRUE(contains(seed, "/seed 10")) << seed;
}

}  // namespace
}  // namespace lockstep::runtime
