// A question to many hosts by ssh: names, quoting, and every way an answer can fail to come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/remote/everywhere.h"
#include "launcher/remote/host_list.h"
#include "tests/launcher/local_sshd.h"

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const HostListError& error) {
    return error.what();
  }
  return "taken";
}

TEST(HostList, NamesBetweenCommasKeepTheirOrder) {
  EXPECT_THAT(hosts_of("b, a,10.0.0.3,fe80::1%eth0,user@c"),
              ElementsAre("b", "a", "10.0.0.3", "fe80::1%eth0", "user@c"));
}

TEST(HostList, WhatCannotBeAHostIsRefusedByName) {
  EXPECT_THAT(refusal([] { (void)hosts_of("a,,b"); }), HasSubstr("an empty name"));
  EXPECT_THAT(refusal([] { (void)hosts_of(""); }), HasSubstr("an empty name"));
  EXPECT_THAT(refusal([] { (void)hosts_of("a,b,a"); }), HasSubstr("host 'a' is named twice"));
  EXPECT_THAT(refusal([] { (void)hosts_of("-oProxyCommand=x"); }),
              HasSubstr("is not the name of a host"));
  EXPECT_THAT(refusal([] { (void)hosts_of("a b"); }), HasSubstr("'a b' is not the name of a host"));
}

TEST(HostList, AFileHasOneNameALine) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "hosts";
  std::ofstream(file) << "\xef\xbb\xbf# the new ones\r\nnode1\r\n\r\n  node2 # slow\n";
  EXPECT_THAT(hosts_of_file(file), ElementsAre("node1", "node2"));
  std::ofstream(file) << "node1\nnode2 slots=8\n";
  EXPECT_THAT(refusal([&] { (void)hosts_of_file(file); }),
              HasSubstr("hosts:2: 'node2 slots=8' is not"));
  std::ofstream(file) << "# none\n";
  EXPECT_THAT(refusal([&] { (void)hosts_of_file(file); }), HasSubstr("names no host"));
  EXPECT_THAT(refusal([&] { (void)hosts_of_file(folder.path()); }), HasSubstr("is not a file"));
  EXPECT_THAT(refusal([&] { (void)hosts_of_file(folder.path() / "none"); }), HasSubstr("none: "));
}

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
              HasSubstr("could not be reached: ssh: Could not resolve hostname nowhere.invalid"));
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
              HasSubstr("has neither /no/such/lockstep nor lockstep-that-is-not in its PATH"));
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
