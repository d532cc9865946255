// The whole program: what a run leaves in its folder, and what `--dump` prints.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/runtime/train_site.h"

namespace lockstep::runtime {
namespace {

using launcher::contents;
using launcher::Launched;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> found;
  for (const auto& [key, value] : object.items()) found.push_back(key);
  return found;
}

// As docs/metrics.md has them, in Json's alphabetical order.
const std::vector<std::string> kSummaryKeys = {"/backend",
                                               "/device",
                                               "/ended",
                                               "/epochs",
                                               "/eval/accuracy",
                                               "/eval/loss",
                                               "/eval/samples",
                                               "/exit/code",
                                               "/exit/host",
                                               "/exit/rank",
                                               "/exit/source",
                                               "/goodput",
                                               "/memory/arenas/activations",
                                               "/memory/arenas/gradients",
                                               "/memory/arenas/optimizer",
                                               "/memory/arenas/parameters",
                                               "/memory/arenas/workspace",
                                               "/memory/lower_bound_activations",
                                               "/memory/peak_resident",
                                               "/memory/planned",
                                               "/model/kind",
                                               "/model/parameters",
                                               "/name",
                                               "/plan_hash",
                                               "/precision",
                                               "/restarts",
                                               "/run",
                                               "/samples",
                                               "/started",
                                               "/status",
                                               "/step_ms/backward",
                                               "/step_ms/data_wait",
                                               "/step_ms/exposed_comm",
                                               "/step_ms/forward",
                                               "/step_ms/median",
                                               "/step_ms/optimizer",
                                               "/step_ms/p95",
                                               "/step_ms/peer_wait",
                                               "/step_ms/stolen_comm",
                                               "/steps",
                                               "/throughput/samples_per_s",
                                               "/throughput/share_of_ceiling",
                                               "/throughput/tflops",
                                               "/throughput/tokens_per_s",
                                               "/tokens",
                                               "/train/loss",
                                               "/version",
                                               "/world"};

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

void expect_summary(const std::filesystem::path& run, int workers) {
  const Json flat = summary(run).flatten();
  EXPECT_EQ(keys(flat), kSummaryKeys);
  EXPECT_EQ(flat.at("/run"), run.filename().string());
  EXPECT_EQ(flat.at("/status"), "done");
  EXPECT_EQ(flat.at("/exit/code"), 0);
  EXPECT_EQ(flat.at("/world"), workers);
  EXPECT_EQ(flat.at("/model/parameters"), 61'706);
  EXPECT_EQ(flat.at("/steps"), 12);
  EXPECT_EQ(flat.at("/samples"), 12 * 96);
  EXPECT_EQ(flat.at("/epochs"), 1.2);
  EXPECT_EQ(flat.at("/eval/samples"), 100);
  for (const char* unmeasured : {"/tokens", "/throughput/tokens_per_s", "/exit/rank"}) {
    EXPECT_TRUE(flat.at(unmeasured).is_null()) << unmeasured;
  }
  for (const char* measured : {"/train/loss", "/eval/loss", "/eval/accuracy", "/step_ms/median",
                               "/throughput/samples_per_s", "/memory/planned",
                               "/memory/peak_resident", "/started", "/ended"}) {
    EXPECT_GT(flat.at(measured), 0) << measured;
  }
}

void expect_metrics(const std::filesystem::path& run) {
  std::vector<Json> records = metrics(run);
  ASSERT_EQ(records.size(), 13U);
  EXPECT_EQ(keys(records.back()),
            (std::vector<std::string>{"eval_accuracy", "eval_loss", "step", "time"}));
  EXPECT_EQ(records.back().at("step"), 12);
  records.pop_back();
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(keys(records[i]),
              (std::vector<std::string>{"data_wait_ms", "epoch", "exposed_comm_ms", "grad_norm",
                                        "loss", "loss_scale", "lr", "samples_per_s", "step",
                                        "step_ms", "time", "tokens_per_s"}));
    EXPECT_EQ(records[i].at("step"), i + 1);
    EXPECT_TRUE(records[i].at("grad_norm").is_number()) << "the job clips";
    EXPECT_TRUE(records[i].at("loss_scale").is_null());
  }
}

TEST(TrainFolder, HoldsWhatOtherProgramsReadAndOnlyItsOwnerMay) {
  Json job = lenet_job();
  job["data"]["eval"] = {{"format", "synthetic"}, {"samples", 100}};
  job["optimizer"]["clip_norm"] = 1.0;
  for (const int workers : {1, 2}) {
    const TrainSite site;
    const std::filesystem::path run = site.done(workers, job);
    EXPECT_EQ(run.parent_path(), std::filesystem::canonical(site.runs() / "lenet"));
    EXPECT_EQ(mode_of(run), 0700U);
    expect_summary(run, workers);
    expect_metrics(run);

    const Json resolved = Json::parse(contents(run / "job.json"));
    EXPECT_EQ(resolved.at("parallel").at("deadline_s"), 600) << "defaults are filled in";
    EXPECT_EQ(resolved.at("data").at("batch"), 96);
    const Json plan = Json::parse(contents(run / "plan.json"));
    EXPECT_EQ(plan.at("hash"), summary(run).at("plan_hash"));
    EXPECT_EQ(plan.at("hash").get<std::string>().size(), 16U);
    EXPECT_EQ(plan.at("world"), workers);
    for (const int step : {4, 8, 12}) {
      EXPECT_EQ(contents(saved_at(run, step) / "plan.json"), contents(run / "plan.json"));
    }
    int events = 0;
    for (const auto& entry : std::filesystem::directory_iterator(run)) {
      events += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
    }
    EXPECT_EQ(events, 1);
    EXPECT_NE(contents(run / "log" / "rank0.log").find("step 12/12"), std::string::npos);
    EXPECT_EQ(std::filesystem::exists(run / "log" / "rank1.log"), workers == 2);
  }
}

TEST(TrainFolder, TheSummaryOfARunThatNeverBeganHasEveryKey) {
  const TrainSite site;
  Json job = lenet_job();
  job["data"]["batch"] = 961;
  Launched run(site.launch(2, job));
  EXPECT_EQ(run.wait(), 1) << run.err();
  const Json flat = summary(site.latest("lenet")).flatten();
  EXPECT_EQ(keys(flat), kSummaryKeys);
  EXPECT_EQ(flat.at("/status"), "failed");
  EXPECT_EQ(flat.at("/exit/code"), 1);
  EXPECT_EQ(flat.at("/world"), 2);
  EXPECT_TRUE(flat.at("/steps").is_null());
  EXPECT_TRUE(flat.at("/ended").is_number());
}

TEST(TrainFolder, ADumpPrintsTheCompiledJobAndTrainsNothing) {
  const TrainSite site;
  const auto dump = [&site](const std::string& what) {
    Launched run(site.train(lenet_job(), {"--dump", what}));
    EXPECT_EQ(run.wait(), 0) << run.err();
    EXPECT_EQ(run.err(), "");
    EXPECT_FALSE(std::filesystem::exists(site.runs()));
    return run.out();
  };
  EXPECT_NE(dump("graph").find("f1: linear("), std::string::npos);
  EXPECT_NE(dump("plan").find("# program whole\n"), std::string::npos);
  EXPECT_NE(dump("memory").find("f1.weight f32[120x400]"), std::string::npos);
  Launched wrong(site.train(lenet_job(), {"--dump", "plans"}));
  EXPECT_EQ(wrong.wait(), 2) << wrong.err();
}

}  // namespace
}  // namespace lockstep::runtime
