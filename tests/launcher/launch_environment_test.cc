// What `lockstep launch` gives to workers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "launcher/agent/allowed_cpus.h"
#include "tests/launcher/launched.h"

namespace lockstep::launcher {
namespace {

nlohmann::json facts(const Launched& job, int rank) {
  return nlohmann::json::parse(contents(job.folder() / fmt::format("rank{}.json", rank)));
}

TEST(Launch, EveryVariableOfTheContractIsSet) {
  Launched job({.args = launch({"-n", "3"}, worker("facts")),
                .environment = {"PMI_RANK=5", "RANK=9", "LOCKSTEP_RANK=9"}});
  ASSERT_EQ(job.wait(), 0) << job.err();
  const std::filesystem::path run = std::filesystem::canonical(job.run(python()));
  std::set<std::string> ports;
  for (int rank = 0; rank < 3; ++rank) {
    const nlohmann::json environment = facts(job, rank)["environment"];
    const std::string r = std::to_string(rank);
    const std::vector<std::pair<std::string, std::string>> expected{
        {"RANK", r},
        {"WORLD_SIZE", "3"},
        {"LOCAL_RANK", r},
        {"LOCAL_WORLD_SIZE", "3"},
        {"GROUP_RANK", "0"},
        {"GROUP_WORLD_SIZE", "1"},
        {"ROLE_NAME", "default"},
        {"ROLE_RANK", r},
        {"ROLE_WORLD_SIZE", "3"},
        {"MASTER_ADDR", "127.0.0.1"},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"TORCHELASTIC_RUN_ID", run.filename()},
        {"TORCHELASTIC_ERROR_FILE", run / ("log/rank" + r + ".error.json")},
        {"PYTHONUNBUFFERED", "1"},
        {"GLOO_SOCKET_IFNAME", "lo"},
        {"NCCL_SOCKET_IFNAME", "lo"},
        {"OMP_NUM_THREADS", std::to_string(std::max(allowed_cpus() / 3, 1U))},
        {"LOCKSTEP_RUN", run},
        {"LOCKSTEP_RANK", r},
        {"LOCKSTEP_WORLD", "3"},
        {"LOCKSTEP_LOCAL_RANK", r},
        {"LOCKSTEP_LOCAL_WORLD", "3"},
        {"LOCKSTEP_HOST_RANK", "0"},
        {"LOCKSTEP_GENERATION", "0"}};
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(environment.value(name, "(unset)"), value) << name << " of rank " << rank;
    }
    ports.insert(environment.value("MASTER_PORT", "(unset)"));
    EXPECT_TRUE(environment.contains("LOCKSTEP_STORE"));
    EXPECT_FALSE(environment.contains("PMI_RANK"));
  }
  EXPECT_EQ(ports.size(), 1U);
  EXPECT_GT(std::stoi(*ports.begin()), 1023);
}

TEST(Launch, WorkersHaveNoInputAndNothingOpenButTheSecret) {
  Launched job({.args = launch({"-n", "2"}, worker("facts"))});
  ASSERT_EQ(job.wait(), 0) << job.err();
  for (int rank = 0; rank < 2; ++rank) {
    const nlohmann::json seen = facts(job, rank);
    const std::string secret = seen["environment"]["LOCKSTEP_SECRET_FD"];
    EXPECT_EQ(seen["stdin"], "/dev/null");
    EXPECT_EQ(seen["open"], nlohmann::json::array({std::stoi(secret)}));
    EXPECT_EQ(seen["secret_bytes"], 32);
    EXPECT_EQ(seen["secret_writable"], false);
    EXPECT_EQ(seen["group_leader"], true);
    EXPECT_EQ(seen["masked"], nlohmann::json::array());
  }
}

TEST(Launch, ArgumentsArriveByteForByte) {
  const std::vector<std::string> odd{"",   "two words", "new\nline", "$$ ${local_rank} *", "--help",
                                     "-n", "--",        "\xff\xfe",  "'quote\"",           ""};
  Launched job({.args = launch({}, {"--", "printf", "<%s>"}, odd)});
  ASSERT_EQ(job.wait(), 0) << job.err();
  std::string expected;
  for (const std::string& arg : odd) expected += "<" + arg + ">";
  EXPECT_EQ(contents(job.run("printf") / "log/rank0.log"), expected + "\n");
}

TEST(Launch, TheEnvironmentArrivesByteForByte) {
  const std::vector<std::string> odd{"WITH.DOT=a",
                                     "NEWLINE=a\nb",
                                     "BYTES=\xff\x01",
                                     "EMPTY=",
                                     "BASH_FUNC_f%%=() { :\n}",
                                     "DOLLAR=$$ ${x}",
                                     "OMP_NUM_THREADS=7",
                                     "LARGE=" + std::string(60'000, 'v')};
  Launched job({.args = launch({}, {"--", "cat", "/proc/self/environ"}), .environment = odd});
  ASSERT_EQ(job.wait(), 0) << job.err();
  const std::string environment = contents(job.run("cat") / "log/rank0.log");
  const std::string end(1, '\0');
  for (const std::string& entry : odd) {
    EXPECT_NE(environment.find(end + entry + end), std::string::npos) << entry.substr(0, 80);
  }
}

TEST(Launch, WorkersMeetInTheStoreThatTheirEnvironmentNames) {
  Launched job({.args = launch({"-n", "3"}, {"--", LOCKSTEP_STORE_WORKER})});
  EXPECT_EQ(job.wait(), 0) << job.err();
}

TEST(Launch, RankZeroCanListenOnTheMasterPortAndLaunchesDoNotCollide) {
  std::vector<std::unique_ptr<Launched>> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(
        std::make_unique<Launched>(Launched::Setup{.args = launch({"-n", "2"}, worker("master"))}));
  }
  for (const auto& job : jobs) EXPECT_EQ(job->wait(), 0) << job->err();
}

TEST(Launch, OneWorkerIsStartedForAProgramWithoutGpusAndTheChoiceIsPrinted) {
  Launched one({.args = launch({}, {"--", "true"}), .environment = {"CUDA_VISIBLE_DEVICES="}});
  EXPECT_EQ(one.wait(), 0);
  EXPECT_NE(one.err().find("1 worker (no GPU is visible"), std::string::npos) << one.err();
  Launched two({.args = launch({}, {"--", "sh", "-c", "echo $WORLD_SIZE"}),
                .environment = {"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"}});
  EXPECT_EQ(two.wait(), 0);
  EXPECT_NE(two.out().find("[1] 2\n"), std::string::npos) << two.out();
}

TEST(Launch, TheRunFolderKeepsLogsAndSummary) {
  Launched job({.args = launch({"-n", "2"}, {"--", "sh", "-c", "echo out; echo err >&2"})});
  ASSERT_EQ(job.wait(), 0) << job.err();
  const std::string log = contents(job.run("sh") / "log/rank1.log");
  EXPECT_TRUE(log == "out\nerr\n" || log == "err\nout\n") << log;
  const nlohmann::json summary = nlohmann::json::parse(contents(job.run("sh") / "summary.json"));
  EXPECT_EQ(summary["version"], 1);
  EXPECT_EQ(summary["name"], "sh");
  EXPECT_EQ(summary["run"], std::filesystem::canonical(job.run("sh")).filename().string());
  EXPECT_EQ(summary["status"], "done");
  EXPECT_EQ(summary["exit"]["code"], 0);
  EXPECT_EQ(summary["world"], 2);
  EXPECT_EQ(summary["restarts"], 0);
  EXPECT_LE(summary["started"], summary["ended"]);
}

TEST(Launch, NoRunFolderIsNeededWhereRunsSaysAnother) {
  Launched job({.args = launch({"--runs", "else/where"}, {"--", "true"})});
  ASSERT_EQ(job.wait(), 0) << job.err();
  EXPECT_TRUE(std::filesystem::exists(job.folder() / "else/where/true/latest/summary.json"));
  EXPECT_FALSE(std::filesystem::exists(job.folder() / "runs"));
}

// A command line that cannot be is answered with exit code 2 and starts nothing.
struct Wrong {
  std::vector<std::string> args;
  std::string answer;
};

class WrongUsage : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, IsExplainedAndStartsNothing) {
  Launched job({.args = GetParam().args});
  EXPECT_EQ(job.wait(), 2);
  EXPECT_NE(job.err().find(GetParam().answer), std::string::npos) << job.err();
  EXPECT_TRUE(job.err().starts_with("error: ") || GetParam().args.empty()) << job.err();
  EXPECT_FALSE(std::filesystem::exists(job.folder() / "runs"));
}

INSTANTIATE_TEST_SUITE_P(
    Launch, WrongUsage,
    testing::Values(Wrong{{}, "usage:"}, Wrong{{"lunch"}, "did you mean 'launch'?"},
                    Wrong{{"--versoin"}, "did you mean '--version'?"},
                    Wrong{{"launch"}, "nothing to start"},
                    Wrong{{"launch", "--"}, "no program after '--'"},
                    Wrong{{"launch", "--per-hots", "2", "--", "true"},
                          "did you mean '--per-host'?"},
                    Wrong{{"launch", "--qqqqqqqq", "--", "true"}, "unknown flag '--qqqqqqqq'\n"},
                    Wrong{{"launch", "-n", "0", "--", "true"}, "-n 0: expected 1 to"},
                    Wrong{{"launch", "-n", "-2", "--", "true"}, "-n -2: expected 1 to"},
                    Wrong{{"launch", "-n", "two", "--", "true"}, "two"},
                    Wrong{{"launch", "-n", "2", "--per-host", "3", "--", "true"}, "differ"},
                    Wrong{{"launch", "--grace", "-1", "--", "true"}, "--grace"},
                    Wrong{{"launch", "job.json", "--", "true"}, "both a job file"},
                    Wrong{{"launch", "nosuch.json"}, "nosuch.json: cannot be read: No such file"},
                    Wrong{{"launch", "/"}, "expected a job file, found a folder"},
                    Wrong{{"launch", "/proc/self/cmdline"}, "/proc/self/cmdline:1:2: syntax error"},
                    Wrong{{"launch", "python3", "train.py"}, "write '--' before it"},
                    Wrong{{"launch", "--set", "a=b", "--", "true"}, "--set changes a job file"},
                    Wrong{{"launch", "--", "no-such-program"}, "in the folders of PATH (/"},
                    Wrong{{"launch", "--", "./no-such-program"}, "No such file"},
                    Wrong{{"launch", "--", "/tmp"}, "it is a directory"},
                    Wrong{{"launch", "--", ""}, "no program ''"}));

TEST(CommandLine, HelpAndVersionAreAnswered) {
  Launched help({.args = {"--help"}}), version({.args = {"--version"}}),
      launch_help({.args = {"launch", "--help"}});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_NE(help.out().find("example: lockstep launch"), std::string::npos);
  EXPECT_EQ(version.wait(), 0);
  EXPECT_TRUE(version.out().starts_with("lockstep 0."));
  EXPECT_EQ(launch_help.wait(), 0);
  EXPECT_NE(launch_help.out().find("lockstep launch -n 4 -- python3 train.py"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::launcher
