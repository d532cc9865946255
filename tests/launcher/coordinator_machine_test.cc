// The coordinator's decisions, without a process: a test plays the agents.
#include "launcher/coordinator/coordinator_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace lockstep::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Time = CoordinatorMachine::Time;

JobPlan plan_of(const std::vector<std::uint32_t>& workers) {
  JobPlan plan;
  plan.hosts.clear();
  for (const std::uint32_t count : workers) {
    plan.hosts.push_back({.name = "h" + std::to_string(plan.hosts.size()), .workers = count});
  }
  plan.version = "1";
  plan.grace = seconds(10);
  return plan;
}

// The machine, and what agents that do what they are told would answer.
class Job {
 public:
  explicit Job(JobPlan plan) : machine_(std::move(plan)) { take(machine_.begin(now_)); }

  void at(Time now) { take(machine_.time_passed(now_ = now)); }
  void say(std::size_t host, Message message) {
    take(machine_.received(host, std::move(message), now_));
  }
  void ready(std::size_t host, const std::string& version = "1") {
    const std::string address = "10.0.0." + std::to_string(host + 1);
    say(host, Ready{version, "h" + std::to_string(host), 100, {{address, "eth0"}}});
  }
  void lose(std::size_t host, const std::string& why = "is gone") {
    take(machine_.agent_lost(host, 1, why, now_));
  }
  void unreachable(std::size_t host, const std::string& why) {
    take(machine_.not_reached(host, why, now_));
  }
  void interrupt() { take(machine_.interrupted("interrupted", now_)); }
  void preempt(seconds grace) { take(machine_.preempted("got SIGTERM", grace, now_)); }
  void pause_until(Time now) {
    take(machine_.pausing());
    take(machine_.resumed(now_ = now));
  }
  void notice(int signal) { take(machine_.noticed(signal, now_)); }
  // The host is done with the attempt.
  void leave(std::size_t host) {
    say(host, Gone{generation_});
    say(host, Drained{generation_});
  }

  template <typename Kind>
  [[nodiscard]] std::vector<std::pair<std::size_t, Kind>> sent() const {
    std::vector<std::pair<std::size_t, Kind>> all;
    for (const auto& [host, message] : sent_) {
      if (const auto* one = std::get_if<Kind>(&message)) all.emplace_back(host, *one);
    }
    return all;
  }
  void forget() { sent_.clear(); }

  [[nodiscard]] const std::vector<std::size_t>& called() const { return called_; }
  // Not before then, the last of them.
  [[nodiscard]] Time called_at() const { return called_at_; }
  [[nodiscard]] const std::vector<std::size_t>& ended() const { return ended_; }
  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const Outcome& outcome() const { return machine_.outcome(); }
  [[nodiscard]] std::optional<Time> deadline() const { return machine_.deadline(); }
  bool reaches_all = true;  // every host every address of the first

 private:
  void take(CoordinatorMachine::Actions actions) {
    std::vector<std::pair<std::size_t, Message>> answers;
    for (auto& action : actions) {
      if (auto* to = std::get_if<CoordinatorMachine::SendTo>(&action)) {
        sent_.emplace_back(to->host, to->message);
        if (const auto* survey = std::get_if<Survey>(&to->message)) {
          answers.emplace_back(to->host, Surveyed{survey->generation, 77});
        } else if (const auto* reach = std::get_if<Reach>(&to->message)) {
          const auto all = reaches_all ? reach->addresses : std::vector<std::string>();
          answers.emplace_back(to->host, Reached{reach->generation, all,
                                                 std::vector<std::string>(all.size(), "eno1")});
        } else if (const auto* prepare = std::get_if<Prepare>(&to->message)) {
          generation_ = prepare->generation;
          answers.emplace_back(to->host, Prepared{prepare->generation, 4'000, 5'000, {}});
        } else if (const auto* ping = std::get_if<Ping>(&to->message)) {
          if (answers_pings) answers.emplace_back(to->host, Pong{ping->number, now_.count()});
        }
      } else if (auto* connect = std::get_if<CoordinatorMachine::Connect>(&action)) {
        called_.push_back(connect->host);
        called_at_ = connect->at;
      } else if (auto* end = std::get_if<CoordinatorMachine::EndAgent>(&action)) {
        ended_.push_back(end->host);
      } else if (auto* say = std::get_if<CoordinatorMachine::Say>(&action)) {
        said_ += say->text + "\n";
      } else if (std::holds_alternative<CoordinatorMachine::Finish>(action)) {
        finished_ = true;
      }
    }
    for (auto& [host, answer] : answers) say(host, std::move(answer));
  }

 public:
  bool answers_pings = true;

 private:
  CoordinatorMachine machine_;
  Time now_{};
  std::uint32_t generation_ = 0;
  std::vector<std::pair<std::size_t, Message>> sent_;
  std::vector<std::size_t> called_, ended_;
  Time called_at_{};
  std::string said_;
  bool finished_ = false;
};

TEST(CoordinatorMachine, RanksAreContiguousByHostAndStartWhenAllAreReady) {
  Job job(plan_of({3, 1, 2}));
  job.ready(0);
  job.ready(2);
  EXPECT_TRUE(job.sent<Start>().empty());
  job.ready(1);
  const auto starts = job.sent<Start>();
  ASSERT_EQ(starts.size(), 3U);
  const std::uint32_t first[] = {0, 3, 4}, local[] = {3, 1, 2};
  for (std::size_t h = 0; h < 3; ++h) {
    const HostJob& one = starts[h].second.job;
    EXPECT_EQ(starts[h].first, h);
    EXPECT_EQ(one.world, 6U);
    EXPECT_EQ(one.first_rank, first[h]);
    EXPECT_EQ(one.local_world, local[h]);
    EXPECT_EQ(one.host_rank, h);
    EXPECT_EQ(one.master_port, 5'000);
    EXPECT_EQ(one.master_address, "10.0.0.1");
    EXPECT_EQ(one.store_address, "10.0.0.1:4000");
    EXPECT_EQ(one.interface, h == 0 ? "eth0" : "eno1") << "each host's own name for it";
  }
}

TEST(CoordinatorMachine, OneHostNeedsNoAddressButLoopback) {
  Job job(plan_of({2}));
  job.ready(0);
  EXPECT_TRUE(job.sent<Survey>().empty());
  ASSERT_EQ(job.sent<Start>().size(), 1U);
  EXPECT_EQ(job.sent<Start>()[0].second.job.master_address, "127.0.0.1");
  EXPECT_EQ(job.sent<Start>()[0].second.job.interface, "lo");
}

TEST(CoordinatorMachine, AnAddressThatNotAllReachIsNotTakenAndNoneIsAnErrorThatNamesBothSides) {
  Job job(plan_of({1, 1}));
  job.reaches_all = false;
  job.ready(0);
  job.ready(1);
  EXPECT_TRUE(job.sent<Start>().empty());
  job.leave(0);
  job.leave(1);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, kExitNotStarted);
  const std::string report = failure_report(job.outcome(), "/no/run");
  EXPECT_THAT(report,
              HasSubstr("host h0 (agent pid 100) has no address that every other host reaches"));
  EXPECT_THAT(report, HasSubstr("10.0.0.1"));
  EXPECT_THAT(report, HasSubstr("h1 reaches none of them"));
}

TEST(CoordinatorMachine, TheEarliestFailureIsTheCulpritWhateverArrivesFirst) {
  Job job(plan_of({2, 2}));
  job.ready(0);
  job.ready(1);
  job.at(milliseconds(1));
  job.say(1, Ended{3, 2'000, 1, 0});
  ASSERT_EQ(job.sent<Stop>().size(), 2U);
  EXPECT_EQ(job.sent<Stop>()[0].second.grace_ms, 10'000);
  job.say(0, Output{1, Stream::kErr, "the cause\n"});
  job.say(0, Ended{1, 1'000, 0, SIGSEGV});
  job.say(0, Ended{0, 3'000, 0, SIGTERM});
  job.say(1, Ended{2, 3'000, 0, 0});
  job.leave(0);
  EXPECT_FALSE(job.finished());
  job.leave(1);
  ASSERT_TRUE(job.finished());
  const Outcome& outcome = job.outcome();
  EXPECT_EQ(outcome.status, Status::kFailed);
  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
  ASSERT_TRUE(outcome.culprit);
  EXPECT_EQ(outcome.culprit->rank, 1U);
  EXPECT_EQ(outcome.culprit->host, "h0");
  EXPECT_EQ(outcome.culprit->last_errors, "the cause\n");
  EXPECT_EQ(outcome.culprit->failed_after, std::vector<std::uint32_t>{3});
  EXPECT_EQ(outcome.culprit->ended_by_us, std::vector<std::uint32_t>{0});
  const std::string report = failure_report(outcome, "/no/run");
  EXPECT_THAT(report, HasSubstr("rank 1 (host h0"));
  EXPECT_THAT(report, HasSubstr("SIGSEGV"));
  EXPECT_THAT(report, HasSubstr("| the cause\n"));
}

TEST(CoordinatorMachine, NothingFailedAfterItWasLearntHoweverItsClockIsMisjudged) {
  JobPlan plan = plan_of({1, 1});
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.at(seconds(1));
  // Host 0 seems a second ahead of what it is: of its round trip the way there took all.
  job.say(0, Ended{0, std::chrono::nanoseconds(seconds(2)).count(), 7, 0});
  job.at(seconds(1) + milliseconds(20));
  job.say(1, Ended{1, std::chrono::nanoseconds(milliseconds(1'010)).count(), 9, 0});
  job.leave(0);
  job.leave(1);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, 7);
}

TEST(CoordinatorMachine, AnEarlyGoodEndIsNoFailure) {
  Job job(plan_of({2}));
  job.ready(0);
  job.forget();
  job.say(0, Ended{0, 1, 0, 0});
  EXPECT_TRUE(job.sent<Stop>().empty());
  job.say(0, Ended{1, 2, 0, 0});
  job.leave(0);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().status, Status::kDone);
  EXPECT_EQ(job.outcome().code, 0);
  EXPECT_EQ(job.sent<Dismiss>().size(), 1U);
}

TEST(CoordinatorMachine, AllHostsThatCannotBeUsedAreNamedAndNothingStarts) {
  Job job(plan_of({1, 1, 1, 1}));
  job.unreachable(0, "could not be reached: Connection refused");
  job.ready(1);
  job.ready(3, "2");
  EXPECT_FALSE(job.finished()) << "host 2 may have its own cause";
  job.unreachable(2, "could not be reached: no such name");
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, kExitNotStarted);
  EXPECT_TRUE(job.sent<Start>().empty());
  ASSERT_EQ(job.sent<Dismiss>().size(), 1U);
  EXPECT_EQ(job.sent<Dismiss>()[0].first, 1U);
  const std::string report = failure_report(job.outcome(), "/no/run");
  EXPECT_THAT(report, HasSubstr("3 hosts could not be used"));
  EXPECT_THAT(report, HasSubstr("h0  could not be reached: Connection refused"));
  EXPECT_THAT(report, HasSubstr("h2  could not be reached: no such name"));
  EXPECT_THAT(report, HasSubstr("h3  has lockstep-agent 2 where 1 is needed"));
}

TEST(CoordinatorMachine, ASilentHostIsNamedWithinTenSecondsAndTheOthersEnd) {
  Job job(plan_of({1, 1}));
  job.ready(0);
  job.ready(1);
  job.answers_pings = false;
  for (int second = 1; second <= 7; ++second) {
    job.at(seconds(second));
    job.say(0, Pong{0, 0});
  }
  EXPECT_TRUE(job.ended().empty());
  job.at(seconds(8));
  EXPECT_EQ(job.ended(), std::vector<std::size_t>{1});
  ASSERT_EQ(job.sent<Stop>().size(), 1U);
  EXPECT_EQ(job.sent<Stop>()[0].first, 0U);
  job.say(0, Ended{0, 1, 0, SIGTERM});
  job.leave(0);
  ASSERT_TRUE(job.finished());
  EXPECT_THAT(failure_report(job.outcome(), "/no/run"),
              HasSubstr("host h1 (agent pid 100) is silent"));
}

TEST(CoordinatorMachine, WhatWasNotHeardWhileWeSleptIsNobodysFault) {
  Job job(plan_of({1}));
  job.ready(0);
  job.at(seconds(3'600));
  EXPECT_TRUE(job.ended().empty());
}

TEST(CoordinatorMachine, AShortPauseIsNotTakenFromTheTimeThatAgentsHaveToEndTheirs) {
  Job job(plan_of({1, 1}));
  job.ready(0);
  job.ready(1);
  job.interrupt();
  job.at(milliseconds(500));
  job.pause_until(milliseconds(2'500));
  EXPECT_TRUE(job.ended().empty()) << "answers that came meanwhile were not read yet";
  job.leave(0);
  job.leave(1);
  EXPECT_TRUE(job.finished());
}

TEST(CoordinatorMachine, AnInterruptHasAShortGraceAndASecondOneKills) {
  Job job(plan_of({2}));
  job.ready(0);
  job.interrupt();
  ASSERT_EQ(job.sent<Stop>().size(), 1U);
  EXPECT_EQ(job.sent<Stop>()[0].second.grace_ms, CoordinatorMachine::kInterruptGrace.count());
  job.interrupt();
  EXPECT_EQ(job.sent<Kill>().size(), 1U);
  job.say(0, Ended{0, 1, 1, 0});
  job.say(0, Ended{1, 1, 0, SIGKILL});
  job.leave(0);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().status, Status::kInterrupted);
  EXPECT_EQ(job.outcome().code, kExitInterrupted);
}

TEST(CoordinatorMachine, AnAgentThatDoesNotAnswerAnInterruptIsGivenUpWithinTwoSeconds) {
  Job job(plan_of({2}));
  job.ready(0);
  job.answers_pings = false;
  job.interrupt();
  for (int step = 0; step < 10 && !job.finished(); ++step) job.at(*job.deadline());
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.ended(), std::vector<std::size_t>{0});
  EXPECT_EQ(job.outcome().code, kExitInterrupted);
}

TEST(CoordinatorMachine, AnInterruptWhileHostsAreCalledEndsAtOnce) {
  Job job(plan_of({1, 1}));
  job.ready(0);
  job.interrupt();
  EXPECT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, kExitInterrupted);
}

TEST(CoordinatorMachine, ALostAgentIsNamed) {
  Job job(plan_of({2}));
  job.ready(0);
  job.lose(0, "lost its agent, which was ended by SIGKILL");
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().source, ExitSource::kLauncher);
  EXPECT_EQ(failure_report(job.outcome(), "/no/run"),
            "error: host h0 (agent pid 100) lost its agent, which was ended by SIGKILL\n");
}

TEST(CoordinatorMachine, APreemptedJobHasItsGraceAndAsksToBeRequeuedUnlessItIsDone) {
  for (const int code : {75, 0}) {
    Job job(plan_of({1, 1}));
    job.ready(0);
    job.ready(1);
    job.preempt(seconds(30));
    ASSERT_EQ(job.sent<Stop>().size(), 2U);
    EXPECT_EQ(job.sent<Stop>()[0].second.grace_ms, 30'000);
    job.preempt(seconds(30));
    EXPECT_EQ(job.sent<Stop>().size(), 2U) << "once";
    job.say(0, Ended{0, 1, 0, 0});
    job.say(1, Ended{1, 1, code, 0});
    job.leave(0);
    job.leave(1);
    ASSERT_TRUE(job.finished());
    EXPECT_EQ(job.outcome().code, code);
    EXPECT_EQ(job.outcome().status, code == 0 ? Status::kDone : Status::kPreempted);
  }
}

TEST(CoordinatorMachine, ANoticeReachesEveryHostAndAWorkerThatActsOnItHasNotFailed) {
  Job job(plan_of({1, 1}));
  job.ready(0);
  job.ready(1);
  job.notice(SIGUSR1);
  ASSERT_EQ(job.sent<Notice>().size(), 2U);
  EXPECT_EQ(job.sent<Notice>()[1].second.signal, SIGUSR1);
  EXPECT_TRUE(job.sent<Stop>().empty());
  job.say(0, Ended{0, 1, kExitPreempted, 0});
  job.say(1, Ended{1, 1, 0, SIGTERM});
  job.leave(0);
  job.leave(1);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().status, Status::kPreempted);
}

// A worker fails, and all agents end the attempt.
void fail_attempt(Job& job, std::size_t hosts, int code) {
  job.say(0, Ended{0, 1, code, 0});
  for (std::size_t h = 0; h < hosts; ++h) job.leave(h);
}

TEST(CoordinatorMachine, AFailedJobStartsAgainWithinItsBudgetInANewGeneration) {
  JobPlan plan = plan_of({1, 1});
  plan.max_restarts = 1;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  fail_attempt(job, 2, 7);
  EXPECT_FALSE(job.finished());
  ASSERT_EQ(job.sent<Start>().size(), 4U);
  EXPECT_EQ(job.sent<Start>()[3].second.job.generation, 1U);
  EXPECT_THAT(job.said(), HasSubstr("exited with code 7"));
  fail_attempt(job, 2, 8);
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, 8);
  EXPECT_EQ(job.outcome().restarts, 1U);
}

TEST(CoordinatorMachine, ThreeAttemptsWithoutProgressAreEnough) {
  JobPlan plan = plan_of({1});
  plan.max_restarts = 100;
  Job job(plan);
  job.ready(0);
  fail_attempt(job, 1, 7);
  fail_attempt(job, 1, 7);
  job.say(0, Progress{2, 500});
  fail_attempt(job, 1, 7);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_FALSE(job.finished());
    fail_attempt(job, 1, 7);
  }
  ASSERT_TRUE(job.finished());
  EXPECT_EQ(job.outcome().code, kExitNoProgress);
}

TEST(CoordinatorMachine, AnElasticJobGoesOnWithTheHostsThatAreLeftAndTakesOneBack) {
  JobPlan plan = plan_of({1, 1, 1});
  plan.least_hosts = 2;
  plan.most_hosts = 3;
  Job job(plan);
  for (std::size_t h = 0; h < 3; ++h) job.ready(h);
  job.forget();
  job.lose(0, "is gone");
  job.leave(1);
  job.leave(2);
  ASSERT_EQ(job.sent<Start>().size(), 2U) << "at once, without waiting for the lost one";
  EXPECT_EQ(job.sent<Start>()[0].second.job.world, 2U);
  EXPECT_EQ(job.sent<Start>()[0].first, 1U) << "the store's host may be the one that is lost";
  EXPECT_EQ(job.called().back(), 0U) << "and it is called again";
  job.forget();
  job.ready(0);
  EXPECT_TRUE(job.sent<Stop>().empty());
  job.say(1, Progress{1, 10});
  EXPECT_EQ(job.sent<Stop>().size(), 2U);
  job.say(1, Ended{0, 1, 0, SIGTERM});
  job.leave(1);
  job.leave(2);
  EXPECT_EQ(job.sent<Start>().size(), 3U);
  EXPECT_FALSE(job.finished());
}

TEST(CoordinatorMachine, AHostThatWasGivenUpIsNotUsedUntilItsWorkersMustHaveEnded) {
  JobPlan plan = plan_of({1, 1});
  plan.max_restarts = 1;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.answers_pings = false;
  for (int second = 1; second < 8; ++second) {
    job.at(seconds(second));
    job.say(0, Note{"still here"});
  }
  job.at(seconds(8));
  ASSERT_EQ(job.ended(), std::vector<std::size_t>{1});
  job.leave(0);
  ASSERT_EQ(job.called().back(), 1U);
  EXPECT_GE(job.called_at(), seconds(20)) << "its agent, or the guard, takes 10 s to notice";
}

TEST(CoordinatorMachine, AnElasticJobCallsAHostAgainThatDidNotEndItsWorkers) {
  JobPlan plan = plan_of({1, 1});
  plan.least_hosts = 1;
  plan.most_hosts = 2;
  plan.max_restarts = 1;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.say(0, Ended{0, 1, 3, 0});
  job.leave(0);
  for (int second = 1; second <= 15; ++second) job.at(seconds(second));
  EXPECT_EQ(job.ended(), std::vector<std::size_t>{1});
  EXPECT_EQ(job.called().back(), 1U);
  EXPECT_GE(job.called_at(), seconds(15) + CoordinatorMachine::kOrphansEnd);
}

TEST(CoordinatorMachine, OutputOfHostsThatAreDoneIsWaitedForWhenAnotherIsGivenUp) {
  JobPlan plan = plan_of({1, 1});
  plan.least_hosts = 1;
  plan.most_hosts = 2;
  plan.max_restarts = 1;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.forget();
  job.say(0, Ended{0, 1, 3, 0});
  job.say(0, Gone{0});
  for (int second = 1; second <= 15; ++second) job.at(seconds(second));
  ASSERT_EQ(job.ended(), std::vector<std::size_t>{1});
  EXPECT_TRUE(job.sent<Prepare>().empty()) << "lines of the old attempt would be the new one's";
  job.say(0, Drained{0});
  EXPECT_EQ(job.sent<Prepare>().size(), 1U);
}

TEST(CoordinatorMachine, HowAWorkerEndsThatMakesRoomForAHostIsNoFailure) {
  JobPlan plan = plan_of({1, 1});
  plan.least_hosts = 1;
  plan.most_hosts = 2;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.lose(1);
  job.leave(0);
  job.ready(1);
  job.say(0, Progress{1, 10});
  job.forget();
  job.say(0, Ended{0, 1, 143, 0});  // as a shell does at SIGTERM
  job.leave(0);
  EXPECT_FALSE(job.finished());
  EXPECT_EQ(job.sent<Start>().size(), 2U);
}

TEST(CoordinatorMachine, AJobThatFailedBeforeItWasPreemptedIsRequeuedOnlyIfItWouldHaveGoneOn) {
  for (const std::uint32_t restarts : {0U, 1U}) {
    JobPlan plan = plan_of({1, 1});
    plan.max_restarts = restarts;
    Job job(plan);
    job.ready(0);
    job.ready(1);
    job.say(0, Ended{0, 1, 7, 0});
    job.preempt(seconds(30));
    job.say(1, Ended{1, 2, 0, SIGTERM});
    job.leave(0);
    job.leave(1);
    ASSERT_TRUE(job.finished());
    EXPECT_EQ(job.outcome().code, restarts == 0 ? 7 : kExitPreempted);
  }
}

TEST(CoordinatorMachine, TooFewHostsAreWaitedForButNotForEver) {
  JobPlan plan = plan_of({1, 1});
  plan.least_hosts = 1;
  plan.most_hosts = 2;
  Job job(plan);
  job.ready(0);
  job.ready(1);
  job.forget();
  job.lose(0);
  job.lose(1);
  EXPECT_FALSE(job.finished());
  job.at(seconds(1));
  job.ready(1);
  EXPECT_EQ(job.sent<Start>().size(), 1U);
  job.lose(1);
  for (int step = 0; step < 200 && !job.finished() && job.deadline(); ++step) {
    job.at(*job.deadline());
  }
  ASSERT_TRUE(job.finished());
  EXPECT_THAT(failure_report(job.outcome(), "/no/run"), HasSubstr("needs 1 host and there are 0"));
}

}  // namespace
}  // namespace lockstep::launcher
