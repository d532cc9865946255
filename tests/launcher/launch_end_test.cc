// How a launched job ends: whose failure is shown, and that nothing is left.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/launcher/launched.h"

namespace lockstep::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

bool ready(const Launched& job, int ranks) {
  return eventually([&job, ranks] {
    for (int rank = 0; rank < ranks; ++rank) {
      if (!std::filesystem::exists(job.folder() / ("ready" + std::to_string(rank)))) return false;
    }
    return true;
  });
}

bool nothing_left(const Launched& job, milliseconds limit) {
  return eventually([&job] { return job.processes().empty(); }, limit);
}

nlohmann::json summary(const Launched& job) {
  return nlohmann::json::parse(contents(job.run(python()) / "summary.json"));
}

TEST(LaunchEnd, TheWorkersExitCodeIsReturned) {
  Launched job({.args = launch({"-n", "2"}, worker("fail"), {"7"})});
  EXPECT_EQ(job.wait(), 7) << job.err();
  EXPECT_NE(job.err().find("error: rank 1 (host "), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("exited with code 7"), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("    | about to fail\n"), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("rank 0 then ended by the launcher"), std::string::npos) << job.err();
  EXPECT_EQ(summary(job)["status"], "failed");
  EXPECT_EQ(summary(job)["exit"]["code"], 7);
  EXPECT_EQ(summary(job)["exit"]["source"], "worker");
  EXPECT_EQ(summary(job)["exit"]["rank"], 1);
}

TEST(LaunchEnd, ASignalIsNamedAndReturnedAs128More) {
  Launched segv({.args = launch({"-n", "2"}, worker("fail"), {"SIGSEGV"})});
  EXPECT_EQ(segv.wait(), 139) << segv.err();
  EXPECT_NE(segv.err().find("SIGSEGV"), std::string::npos) << segv.err();
  Launched kill({.args = launch({"-n", "2"}, worker("fail"), {"SIGKILL"})});
  EXPECT_EQ(kill.wait(), 137) << kill.err();
  EXPECT_NE(kill.err().find("by the kernel (out of memory?) or by someone else"), std::string::npos)
      << kill.err();
}

TEST(LaunchEnd, TheCulpritIsShownAndNotTheChorus) {
  Launched job({.args = launch({"-n", "4", "--grace", "20"}, worker("chorus"))});
  EXPECT_EQ(job.wait(), 7) << job.err();
  const std::string report = job.err().substr(job.err().find("error: "));
  EXPECT_NE(report.find("rank 1 (host "), std::string::npos) << report;
  EXPECT_NE(report.find("| Traceback: the real cause\n"), std::string::npos) << report;
  EXPECT_EQ(report.find("connection reset"), std::string::npos) << report;
  EXPECT_TRUE(report.ends_with("\n  ranks 0, 2-3 failed after it\n")) << report;
}

TEST(LaunchEnd, TheErrorFileOfTheCulpritIsShown) {
  Launched job({.args = launch({}, worker("error_file"))});
  EXPECT_EQ(job.wait(), 1);
  EXPECT_NE(job.err().find("| ValueError: from the error file\n"), std::string::npos) << job.err();
}

TEST(LaunchEnd, AProgramThatCannotBeExecutedIsNamed) {
  const TemporaryFolder folder;
  const std::string script = folder.path() / "script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Launched job({.args = launch({"-n", "2"}, {"--", script})});
  EXPECT_EQ(job.wait(), 125) << job.err();
  EXPECT_NE(job.err().find("cannot execute '" + script), std::string::npos) << job.err();
}

TEST(LaunchEnd, WithoutItsAgentNothingIsStarted) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(lockstep_program(), folder.path() / "lockstep");
  Launched job({.args = launch({}, {"--", "true"}), .program = folder.path() / "lockstep"});
  EXPECT_EQ(job.wait(), 125) << job.err();
  EXPECT_NE(job.err().find("lockstep-agent"), std::string::npos) << job.err();
}

TEST(LaunchEnd, WhatAGoodWorkerLeftBehindIsEnded) {
  Launched job({.args = launch({"-n", "2"}, worker("daemon"))});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_TRUE(nothing_left(job, milliseconds(0)));
}

TEST(LaunchEnd, AFailureLeavesNothingEvenOfWhatIgnoresTerm) {
  Launched job({.args = launch({"-n", "2"}, worker("tree"))});
  ASSERT_TRUE(ready(job, 2)) << job.err();
  const pid_t worker_pid = job.process_named(python());
  ASSERT_GT(worker_pid, 0);
  ::kill(worker_pid, SIGKILL);
  EXPECT_EQ(job.wait(seconds(5)), 137) << job.err();
  EXPECT_TRUE(nothing_left(job, milliseconds(0)));
}

TEST(LaunchEnd, KillingTheLauncherLeavesNothing) {
  Launched job({.args = launch({"-n", "3"}, worker("tree"))});
  ASSERT_TRUE(ready(job, 3)) << job.err();
  EXPECT_GE(job.processes().size(), 3U * 4U + 2U) << "launcher, agent, 3 workers with 3 each";
  job.signal(SIGKILL);
  EXPECT_TRUE(nothing_left(job, seconds(5)));
}

TEST(LaunchEnd, KillingTheAgentLeavesNothingAndIsNamed) {
  Launched job({.args = launch({"-n", "3"}, worker("tree"))});
  ASSERT_TRUE(ready(job, 3)) << job.err();
  const pid_t agent = job.process_named("lockstep-agent");
  ASSERT_GT(agent, 0);
  ::kill(agent, SIGKILL);
  EXPECT_EQ(job.wait(seconds(5)), 137) << job.err();
  EXPECT_TRUE(nothing_left(job, milliseconds(0)));
  EXPECT_NE(job.err().find("(agent pid " + std::to_string(agent) +
                           ") lost its agent, which was ended by SIGKILL"),
            std::string::npos)
      << job.err();
  EXPECT_EQ(summary(job)["exit"]["source"], "launcher");
}

class Interrupt : public testing::TestWithParam<int> {};

TEST_P(Interrupt, LeavesNothingWithinTwoSeconds) {
  Launched job({.args = launch({"-n", "3", "--grace", "60"}, worker("tree"))});
  ASSERT_TRUE(ready(job, 3)) << job.err();
  const auto begin = steady_clock::now();
  job.signal(GetParam());
  EXPECT_EQ(job.wait(), 130) << job.err();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
  EXPECT_TRUE(nothing_left(job, milliseconds(0)));
  EXPECT_EQ(summary(job)["status"], "interrupted");
  EXPECT_EQ(summary(job)["exit"]["code"], 130);
}

INSTANTIATE_TEST_SUITE_P(LaunchEnd, Interrupt, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(LaunchEnd, AStoppedAgentDoesNotHoldUpAnInterrupt) {
  Launched job({.args = launch({"-n", "2"}, worker("tree"))});
  ASSERT_TRUE(ready(job, 2)) << job.err();
  const pid_t agent = job.process_named("lockstep-agent");
  ASSERT_GT(agent, 0);
  ::kill(agent, SIGSTOP);
  const auto begin = steady_clock::now();
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << job.err();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
  EXPECT_TRUE(nothing_left(job, milliseconds(0)));
}

TEST(LaunchEnd, AHangUpThatWasIgnoredAtTheStartStaysIgnored) {
  Launched job({.args = launch({}, worker("patient")),
                .through = {"/bin/sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""}});
  ASSERT_TRUE(ready(job, 1)) << job.err();
  job.signal(SIGHUP);
  std::ofstream(job.folder() / "go").flush();
  EXPECT_EQ(job.wait(), 0) << job.err();
}

TEST(LaunchEnd, ProcessesThatAreNotOfTheJobAreLeftAlone) {
  Launched job({.args = launch({"-n", "2"}, {"--", "true"}),
                .through = {"/bin/sh", "-c", "sleep 1000 & exec \"$0\" \"$@\""}});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_GT(job.process_named("sleep"), 0);
}

TEST(LaunchEnd, ManyShortWorkersAllEnd) {
  for (int round = 0; round < 5; ++round) {
    Launched job({.args = launch({"-n", "32"}, {"--", "true"})});
    ASSERT_EQ(job.wait(), 0) << job.err();
    EXPECT_TRUE(nothing_left(job, milliseconds(0)));
  }
}

}  // namespace
}  // namespace lockstep::launcher
