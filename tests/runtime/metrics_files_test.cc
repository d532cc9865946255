#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "runtime/metrics/jsonl.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary_file.h"
#include "tests/runtime/checkpoint_fixtures.h"

namespace lockstep::runtime::metrics {
namespace {

using checkpoint::fixtures::TemporaryFolder;
using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RunFolder, TheIdIsUtcTimeAndFourHexDigits) {
  // 2026-11-30 18:15:02 UTC, and half a second.
  const auto time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1796062502500));
  EXPECT_EQ(run_id(time, 0x3fa9), "20261130-181502-3fa9");
  EXPECT_EQ(run_id(std::chrono::system_clock::time_point{}, 7), "19700101-000000-0007");
}

TEST(RunFolder, IsMadePrivateAndLatestPointsToTheNewest) {
  const TemporaryFolder folder;
  const RunFolder first = RunFolder::create(folder.path() / "runs", "lenet");
  EXPECT_EQ(first.path().parent_path(), folder.path() / "runs" / "lenet");
  EXPECT_THAT(first.id(), testing::MatchesRegex("[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"));
  EXPECT_EQ(std::filesystem::status(first.path()).permissions(), std::filesystem::perms::owner_all);
  const auto latest = folder.path() / "runs" / "lenet" / "latest";
  EXPECT_EQ(std::filesystem::read_symlink(latest), first.id());
  const RunFolder second = RunFolder::create(folder.path() / "runs", "lenet");
  EXPECT_NE(second.path(), first.path());
  EXPECT_EQ(std::filesystem::read_symlink(latest), second.id());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(latest.parent_path()), {}), 3);
}

TEST(RunFolder, ARequeuedJobFindsItselfByItsId) {
  const TemporaryFolder folder;
  const RunFolder first = RunFolder::create(folder.path(), "lenet", "4711");
  first.write("job.json", "{}\n");
  const RunFolder again = RunFolder::create(folder.path(), "lenet", "4711");
  EXPECT_EQ(again.path(), folder.path() / "lenet" / "4711");
  EXPECT_EQ(text_of(again.path() / "job.json"), "{}\n");
}

TEST(RunFolder, ANameThatIsNoFolderNameIsRefused) {
  const TemporaryFolder folder;
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "latest"}) {
    EXPECT_THROW((void)RunFolder::create(folder.path(), name), RunFolderError) << name;
    EXPECT_THROW((void)RunFolder::create(folder.path(), "ok", name), RunFolderError) << name;
    EXPECT_FALSE(is_run_name(name)) << name;
  }
  EXPECT_TRUE(is_run_name("fashion-resnet v2"));
}

TEST(RunFolder, WhereNoneCanBeMadeThePathIsNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "runs") << "a file";
  try {
    (void)RunFolder::create(folder.path() / "runs", "lenet");
    FAIL() << "it was made";
  } catch (const RunFolderError& error) {
    EXPECT_THAT(error.what(), HasSubstr((folder.path() / "runs").string()));
  }
}

TEST(RunFolder, TheLaunchersFolderIsTakenIfItIsThere) {
  const TemporaryFolder folder;
  ASSERT_EQ(::unsetenv("LOCKSTEP_RUN"), 0);
  EXPECT_FALSE(RunFolder::given());
  ASSERT_EQ(::setenv("LOCKSTEP_RUN", folder.path().c_str(), 1), 0);
  EXPECT_EQ(RunFolder::given()->path(), folder.path());
  ASSERT_EQ(::setenv("LOCKSTEP_RUN", (folder.path() / "missing").c_str(), 1), 0);
  EXPECT_THROW((void)RunFolder::given(), RunFolderError);
  ASSERT_EQ(::unsetenv("LOCKSTEP_RUN"), 0);
}

TEST(RunFolder, AWrittenFileReplacesTheOldOneAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::open(folder.path());
  run.write("summary.json", "old");
  run.write("summary.json", "new");
  EXPECT_EQ(text_of(folder.path() / "summary.json"), "new");
  checkpoint::PosixFileSystem files;
  EXPECT_THAT(files.list(folder.path()), testing::ElementsAre("summary.json"));
}

nlohmann::json summary_in(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "summary.json"));
}

// As the launcher knows a run of two workers.
Summary launchers_summary(RunStatus status, int code) {
  Summary summary;
  summary.name = "job";
  summary.run = "id";
  summary.world = 2;
  summary.started = 7;
  summary.ended = 9;
  summary.status = status;
  summary.exit.emplace();
  summary.exit->code = code;
  return summary;
}

TEST(SummaryFile, CorrectsWhatTheTrainerWroteOnlyWhereTheJobDidNotEndWell) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::open(folder.path());
  run.write("summary.json",
            R"({"status": "done", "exit": {"code": 0}, "steps": 12, "started": 5})");
  complete_summary(run, launchers_summary(RunStatus::done, 0));
  EXPECT_EQ(summary_in(folder.path())["exit"]["code"], 0);
  EXPECT_EQ(summary_in(folder.path())["started"], 5);
  EXPECT_EQ(summary_in(folder.path())["world"], 2);
  Summary failed = launchers_summary(RunStatus::failed, 137);
  failed.exit->rank = 1;
  failed.exit->host = "h\xff";
  complete_summary(run, failed);
  EXPECT_EQ(summary_in(folder.path())["status"], "failed");
  EXPECT_EQ(summary_in(folder.path())["exit"]["code"], 137);
  EXPECT_EQ(summary_in(folder.path())["exit"]["rank"], 1);
  EXPECT_EQ(summary_in(folder.path())["steps"], 12);
}

TEST(SummaryFile, ATornOneIsReplaced) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::open(folder.path());
  run.write("summary.json", R"({"status": "do)");
  complete_summary(run, launchers_summary(RunStatus::done, 0));
  EXPECT_EQ(summary_in(folder.path())["status"], "done");
}

TEST(Summary, WhatWasNotMeasuredIsNull) {
  Summary summary;
  summary.name = "lenet";
  summary.run = "20261130-181502-3fa9";
  EXPECT_EQ(to_text(summary), R"({
  "version": 1,
  "name": "lenet",
  "run": "20261130-181502-3fa9",
  "status": null,
  "exit": null,
  "world": null,
  "device": null,
  "precision": null,
  "backend": null,
  "model": {
    "kind": null,
    "parameters": null
  },
  "steps": null,
  "epochs": null,
  "samples": null,
  "tokens": null,
  "train": {
    "loss": null
  },
  "eval": {
    "loss": null,
    "accuracy": null,
    "samples": null
  },
  "throughput": {
    "samples_per_s": null,
    "tokens_per_s": null,
    "tflops": null,
    "share_of_ceiling": null
  },
  "step_ms": {
    "median": null,
    "p95": null,
    "data_wait": null,
    "forward": null,
    "backward": null,
    "exposed_comm": null,
    "stolen_comm": null,
    "peer_wait": null,
    "optimizer": null
  },
  "memory": {
    "planned": null,
    "peak_resident": null,
    "arenas": {
      "parameters": null,
      "gradients": null,
      "optimizer": null,
      "activations": null,
      "workspace": null
    },
    "lower_bound_activations": null
  },
  "restarts": null,
  "goodput": null,
  "started": null,
  "ended": null,
  "plan_hash": null
}
)");
}

TEST(Summary, EveryFigureIsUnderItsName) {
  Summary summary;
  summary.status = RunStatus::interrupted;
  summary.exit = {.code = 130, .source = ExitSource::launcher, .rank = 3, .host = "node2"};
  summary.world = 2;
  summary.device = "cpu";
  summary.precision = "fp32";
  summary.backend = "host";
  summary.model = {"lenet", 44426};
  summary.steps = 938;
  summary.epochs = 2;
  summary.samples = 120064;
  summary.train_loss = 0.25;
  summary.eval = {0.3, 0.925, 10000};
  summary.throughput = {
      .samples_per_s = 4966.5, .tokens_per_s = {}, .tflops = 0.05, .share_of_ceiling = 0.61};
  summary.step_ms = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  summary.memory = {
      .planned = 10, .peak_resident = 20, .lower_bound_activations = 30, .arenas = {1, 2, 3, 4, 5}};
  summary.restarts = 0;
  summary.started = 1796062502.5;
  summary.plan_hash = "9c1e";
  EXPECT_EQ(
      to_json(summary).dump(),
      R"({"version":1,"name":"","run":"","status":"interrupted",)"
      R"("exit":{"code":130,"source":"launcher","rank":3,"host":"node2"},"world":2,"device":"cpu",)"
      R"("precision":"fp32","backend":"host","model":{"kind":"lenet","parameters":44426},)"
      R"("steps":938,"epochs":2.0,"samples":120064,"tokens":null,"train":{"loss":0.25},)"
      R"("eval":{"loss":0.3,"accuracy":0.925,"samples":10000},)"
      R"("throughput":{"samples_per_s":4966.5,"tokens_per_s":null,"tflops":0.05,"share_of_ceiling":0.61},)"
      R"("step_ms":{"median":1.0,"p95":2.0,"data_wait":3.0,"forward":4.0,"backward":5.0,)"
      R"("exposed_comm":6.0,"stolen_comm":7.0,"peer_wait":8.0,"optimizer":9.0},)"
      R"("memory":{"planned":10,"peak_resident":20,"arenas":{"parameters":1,"gradients":2,)"
      R"("optimizer":3,"activations":4,"workspace":5},"lower_bound_activations":30},)"
      R"("restarts":0,"goodput":null,"started":1796062502.5,"ended":null,"plan_hash":"9c1e"})");
}

TEST(Summary, ANumberThatIsNoneIsNull) {
  Summary summary;
  summary.train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(to_json(summary).at("train").at("loss").is_null());
}

StepRecord step_record(std::int64_t step) {
  StepRecord record;
  record.step = step;
  record.loss = 2.125;
  record.lr = 3e-4;
  record.step_ms = 412.3;
  record.time = 1796062502.5;
  return record;
}

constexpr const char* kStep10 =
    R"({"step":10,"epoch":null,"loss":2.125,"lr":0.0003,"grad_norm":null,"loss_scale":null,)"
    R"("samples_per_s":null,"tokens_per_s":null,"step_ms":412.3,"data_wait_ms":null,)"
    R"("exposed_comm_ms":null,"time":1796062502.5})";

TEST(MetricsLog, ARecordIsOneLineWithNullForWhatIsUnknown) {
  EXPECT_EQ(to_text(step_record(10)), kStep10);
  EXPECT_EQ(to_text(EvaluationRecord{20, 0.5, 0.9, 3}),
            R"({"step":20,"eval_loss":0.5,"eval_accuracy":0.9,"time":3.0})");
}

TEST(MetricsLog, ALineIsThereWhenTheCallReturns) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsLog log(path, 0);
  log.write(step_record(10));
  EXPECT_EQ(text_of(path), fmt::format("{}\n", kStep10));
  log.write(EvaluationRecord{10, 0.5, {}, 3});
  EXPECT_EQ(text_of(path),
            fmt::format("{}\n{}\n", kStep10,
                        R"({"step":10,"eval_loss":0.5,"eval_accuracy":null,"time":3.0})"));
}

TEST(MetricsLog, AResumeDropsLaterStepsAndACutLine) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsLog log(path, 0);
    for (const std::int64_t step : {10, 20, 30}) log.write(step_record(step));
    log.write(EvaluationRecord{20, 0.5, 0.9, 3});
    log.write(EvaluationRecord{30, 0.4, 0.9, 4});
  }
  std::ofstream(path, std::ios::app) << R"({"step":15,"loss")";
  MetricsLog log(path, 20);
  EXPECT_EQ(text_of(path),
            fmt::format("{}\n{}\n{}\n", to_text(step_record(10)), to_text(step_record(20)),
                        to_text(EvaluationRecord{20, 0.5, 0.9, 3})));
  log.write(step_record(30));
  EXPECT_THAT(text_of(path), testing::EndsWith(to_text(step_record(30)) + "\n"));
}

TEST(MetricsLog, ANewRunBeginsEmpty) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  std::ofstream(path) << kStep10 << '\n';
  MetricsLog log(path, 0);
  EXPECT_EQ(text_of(path), "");
}

// In a process of its own: how far a file may grow belongs to the process.
TEST(MetricsLog, ALineThatDoesNotFitIsTakenBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  const std::string line = to_text(step_record(10)) + "\n";
  const pid_t child = ::fork();
  if (child == 0) {
    MetricsLog log(path, 0);
    log.write(step_record(10));
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{line.size() + 20, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    try {
      log.write(step_record(20));
      ::_exit(2);
    } catch (const checkpoint::FileSystemError& error) {
      if (error.code() != EFBIG) ::_exit(3);
    }
    const rlimit large{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &large) != 0) ::_exit(4);
    log.write(step_record(30));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(text_of(path), line + to_text(step_record(30)) + "\n");
}

}  // namespace
}  // namespace lockstep::runtime::metrics
