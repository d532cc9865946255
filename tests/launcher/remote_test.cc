// A question to many hosts by ssh: names, quoting, and every way an answer can fail to come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "launcher/remote/everywhere.h"
#include "tests/launcher/local_sshd.h"

namespace lockstep::launcher {
namespace {

using testing::HasSubstr;

class Everywhere : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(LocalSshd::kProgram))
      GTEST_SKIP() << "SKIPPED: no sshd here (openssh-server)";
    sshd_.emplace(std::vector<std::string>{"one", "two"});
    options_.client = sshd_->client();
  }

  std::vector<RemoteResult> ask(const std::vector<std::string>& hosts, const std::string& script) {
    return run_everywhere(hosts, {.path = "/bin/sh", .name = "sh", .args = {"-c", script}},
                          options_);
  }

  std::optional<LocalSshd> sshd_;
  RemoteOptions options_;
};

TEST_F(Everywhere, AnswersComeInTheOrderOfTheHostsAndTheOthersAreNamedWithTheReason) {
  const auto results = ask({"two", "nowhere.invalid", "one"}, R"(echo "it's $0"; printf 'a\n\nb')");
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].host, "two");
  EXPECT_EQ(results[0].output, "it's /bin/sh\na\n\nb") << results[0].failure;
  EXPECT_EQ(results[1].output, std::nullopt);
  EXPECT_THAT(results[1].failure,
              HasSubstr("could not be reached: Could not resolve hostname nowhere.invalid"));
  EXPECT_EQ(results[2].output, results[0].output);
}

TEST_F(Everywhere, AProgramThatFailsIsNotAnAnswer) {
  const auto results = ask({"one"}, "echo half; echo why it failed >&2; exit 3");
  EXPECT_EQ(results[0].output, std::nullopt);
  EXPECT_EQ(results[0].failure, "sh ended with exit code 3: why it failed");
}

TEST_F(Everywhere, AHostWithoutTheProgramIsToldWhatToDo) {
  const auto results = run_everywhere(
      {"one"}, {.path = "/no/such/lockstep", .name = "lockstep-that-is-not", .args = {}}, options_);
  EXPECT_THAT(results[0].failure,
              HasSubstr("has no lockstep-that-is-not at the launcher's own path, nor in its PATH"));
}

TEST_F(Everywhere, AProgramIsFoundInThePathWhereItIsNotAtItsPlace) {
  const auto results = run_everywhere(
      {"one"}, {.path = "/no/such/echo", .name = "echo", .args = {"a  b", "'", "$x"}}, options_);
  EXPECT_EQ(results[0].output, "a  b ' $x\n") << results[0].failure;
}

TEST_F(Everywhere, SilenceEndsAtTheDeadlineAndAFloodAtTheLimit) {
  options_.deadline = std::chrono::seconds(3);
  const auto results = ask({"one", "two"}, "[ $$ = 0 ] || exec sleep 1000");
  for (const RemoteResult& result : results) EXPECT_EQ(result.failure, "did not answer within 3 s");
  options_.deadline = std::chrono::seconds(60);
  EXPECT_EQ(ask({"one"}, "head -c 20000000 /dev/zero")[0].failure, "printed more than 16 MiB");
}

TEST_F(Everywhere, MoreHostsThanConnectionsAreAskedInTurn) {
  options_.at_once = 1;
  const auto results = ask({"one", "two"}, "echo here");
  EXPECT_EQ(results[0].output, "here\n");
  EXPECT_EQ(results[1].output, "here\n");
}

TEST(EverywhereHere, AClientThatCannotStartIsAnError) {
  RemoteOptions options;
  options.client = "no-such-ssh-client";
  EXPECT_ANY_THROW(
      (void)run_everywhere({"one"}, {.path = "/bin/true", .name = "true", .args = {}}, options));
}

}  // namespace
}  // namespace lockstep::launcher
