// The coordinator's and the agent's decisions, without a process.
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "launcher/agent/agent_machine.h"
#include "launcher/coordinator/coordinator_machine.h"

namespace lockstep::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The first action of a kind; null where there is none.
template <typename Kind, typename Actions>
const Kind* find(const Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* found = std::get_if<Kind>(&action)) return found;
  }
  return nullptr;
}

template <typename Kind>
const Kind* sent(const AgentMachine::Actions& actions) {
  for (const auto& action : actions) {
    const auto* send = std::get_if<AgentMachine::Send>(&action);
    if (send == nullptr) continue;
    if (const auto* found = std::get_if<Kind>(&send->message)) return found;
  }
  return nullptr;
}

template <typename Kind>
const Kind* sent(const CoordinatorMachine::Actions& actions) {
  for (const auto& action : actions) {
    const auto* send = std::get_if<CoordinatorMachine::SendTo>(&action);
    if (send == nullptr) continue;
    if (const auto* found = std::get_if<Kind>(&send->message)) return found;
  }
  return nullptr;
}

Start start_of(std::uint32_t workers) {
  Start start;
  start.job.world = start.job.local_world = workers;
  return start;
}

TEST(AgentMachine, EndsByItselfWhenAllWorkersDid) {
  AgentMachine agent;
  EXPECT_NE(find<AgentMachine::StartWorkers>(agent.received(start_of(2), Time(0))), nullptr);
  EXPECT_EQ(find<AgentMachine::Sweep>(agent.worker_ended(0, {}, 1, Time(1))), nullptr);
  const auto last = agent.worker_ended(1, {3, 0}, 2, Time(2));
  ASSERT_NE(sent<Ended>(last), nullptr);
  EXPECT_EQ(sent<Ended>(last)->code, 3);
  ASSERT_NE(find<AgentMachine::Sweep>(last), nullptr);
  EXPECT_EQ(find<AgentMachine::Sweep>(last)->signal, SIGTERM);
  EXPECT_NE(sent<Gone>(agent.swept(0, Time(3))), nullptr);
  const auto drained = agent.output_drained();
  EXPECT_NE(sent<Drained>(drained), nullptr);
  EXPECT_NE(find<AgentMachine::Exit>(drained), nullptr);
}

TEST(AgentMachine, WhatWorkersLeftBehindIsAskedThenKilled) {
  AgentMachine agent;
  (void)agent.received(start_of(1), Time(0));
  (void)agent.worker_ended(0, {}, 1, Time(0));
  EXPECT_TRUE(agent.swept(2, Time(0)).empty());
  Time now(0);
  int counted = 0, killed = 0;
  while (agent.deadline() && killed == 0) {
    now = *agent.deadline();
    const auto actions = agent.time_passed(now);
    const auto* sweep = find<AgentMachine::Sweep>(actions);
    ASSERT_NE(sweep, nullptr);
    (sweep->signal == SIGKILL ? killed : counted)++;
    (void)agent.swept(2, now);
  }
  EXPECT_GT(counted, 10);
  EXPECT_EQ(now, AgentMachine::kLeftoverGrace);
  EXPECT_NE(sent<Gone>(agent.swept(0, now)), nullptr);
}

TEST(AgentMachine, StopIsTermThenKillAfterTheGrace) {
  AgentMachine agent;
  (void)agent.received(start_of(2), Time(0));
  const auto stop = agent.received(Stop{500}, Time(0));
  ASSERT_NE(find<AgentMachine::SignalGroups>(stop), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(stop)->signal, SIGTERM);
  EXPECT_TRUE(agent.time_passed(milliseconds(499)).empty());
  const auto kill = agent.time_passed(milliseconds(500));
  ASSERT_NE(find<AgentMachine::SignalGroups>(kill), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(kill)->signal, SIGKILL);
  EXPECT_NE(find<AgentMachine::Sweep>(kill), nullptr);
}

TEST(AgentMachine, LosingTheCoordinatorKillsAtOnceAndNeedsNoReader) {
  AgentMachine agent;
  (void)agent.received(start_of(1), Time(0));
  const auto lost = agent.coordinator_lost(Time(1));
  ASSERT_NE(find<AgentMachine::SignalGroups>(lost), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(lost)->signal, SIGKILL);
  EXPECT_NE(find<AgentMachine::DiscardOutput>(lost), nullptr);
  (void)agent.worker_ended(0, {0, SIGKILL}, 1, Time(2));
  EXPECT_NE(find<AgentMachine::Exit>(agent.swept(0, Time(3))), nullptr);
}

TEST(AgentMachine, ProcessesThatHangInTheKernelAreNamedAndNotWaitedForForever) {
  AgentMachine agent;
  (void)agent.received(start_of(1), Time(0));
  (void)agent.received(Kill{}, Time(0));
  EXPECT_EQ(sent<Gone>(agent.swept(1, Time(0))), nullptr);
  const auto end = agent.swept(1, AgentMachine::kKillingLimit);
  EXPECT_NE(sent<Note>(end), nullptr);
  EXPECT_NE(sent<Gone>(end), nullptr);
}

// Whatever is asked in whatever order, time alone brings an agent to its end once it was told to.
TEST(AgentMachine, EveryHistoryEndsInGone) {
  for (unsigned seed = 0; seed < 2'000; ++seed) {
    std::mt19937 random(seed);
    AgentMachine agent;
    Time now(0);
    std::uint32_t living = 0, next = 0, leftovers = random() % 3;
    bool killed = false;
    const auto apply = [&](auto&& self, const AgentMachine::Actions& actions) -> void {
      for (const auto& action : actions) {
        if (const auto* start = std::get_if<AgentMachine::StartWorkers>(&action)) {
          living = start->job.local_world;
        } else if (const auto* groups = std::get_if<AgentMachine::SignalGroups>(&action)) {
          killed = killed || groups->signal == SIGKILL;
        } else if (const auto* sweep = std::get_if<AgentMachine::Sweep>(&action)) {
          if (sweep->signal == SIGKILL) leftovers = 0;
          self(self, agent.swept(living + leftovers, now));
        }
      }
    };
    for (int step = 0; step < 400 && !agent.gone(); ++step) {
      now += milliseconds(random() % 200);
      switch (random() % 8) {
        case 0:
          apply(apply, agent.received(start_of(1 + random() % 4), now));
          break;
        case 1:
          apply(apply, agent.received(Stop{static_cast<std::int64_t>(random() % 2'000)}, now));
          break;
        case 2:
          if (step > 20) apply(apply, agent.coordinator_lost(now));
          break;
        case 3:
          if (step > 50) apply(apply, agent.received(Kill{}, now));
          break;
        default:
          break;
      }
      if (living > 0 && (killed || random() % 10 == 0)) {
        --living;
        apply(apply, agent.worker_ended(next++, {0, killed ? SIGKILL : 0}, 1, now));
      }
      apply(apply, agent.time_passed(now));
    }
    EXPECT_TRUE(agent.gone()) << "seed " << seed;
    EXPECT_EQ(living + leftovers, 0U) << "seed " << seed;
  }
}

JobPlan plan_of(std::vector<std::uint32_t> workers_per_host) {
  JobPlan plan;
  plan.workers_per_host = std::move(workers_per_host);
  plan.version = "1";
  plan.grace = seconds(10);
  return plan;
}

void make_ready(CoordinatorMachine& machine, std::size_t hosts) {
  for (std::size_t h = 0; h < hosts; ++h) {
    (void)machine.received(h, Ready{"1", h == 0 ? "h0" : "h1", 100, 4'000}, Time(0));
  }
}

TEST(CoordinatorMachine, RanksAreContiguousByHostAndStartWhenAllAreReady) {
  CoordinatorMachine machine(plan_of({3, 1, 2}));
  EXPECT_EQ(sent<Start>(machine.received(0, Ready{"1", "a", 1, 4'001}, Time(0))), nullptr);
  EXPECT_EQ(sent<Start>(machine.received(2, Ready{"1", "c", 1, 4'003}, Time(0))), nullptr);
  const auto actions = machine.received(1, Ready{"1", "b", 1, 4'002}, Time(0));
  std::vector<HostJob> jobs;
  for (const auto& action : actions) {
    const auto* to = std::get_if<CoordinatorMachine::SendTo>(&action);
    if (to != nullptr) jobs.push_back(std::get<Start>(to->message).job);
  }
  ASSERT_EQ(jobs.size(), 3U);
  const std::uint32_t first[] = {0, 3, 4}, local[] = {3, 1, 2};
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_EQ(jobs[h].world, 6U);
    EXPECT_EQ(jobs[h].first_rank, first[h]);
    EXPECT_EQ(jobs[h].local_world, local[h]);
    EXPECT_EQ(jobs[h].host_rank, h);
    EXPECT_EQ(jobs[h].master_port, 4'001) << "the port is rank 0's host's";
  }
}

TEST(CoordinatorMachine, TheEarliestFailureIsTheCulpritWhateverArrivesFirst) {
  CoordinatorMachine machine(plan_of({2, 2}));
  make_ready(machine, 2);
  const auto first = machine.received(1, Ended{3, 2'000, 1, 0}, Time(0));
  ASSERT_NE(sent<Stop>(first), nullptr);
  EXPECT_EQ(sent<Stop>(first)->grace_ms, 10'000);
  (void)machine.received(0, Output{1, Stream::kErr, "the cause\n"}, Time(1));
  (void)machine.received(0, Ended{1, 1'000, 0, SIGSEGV}, Time(1));
  (void)machine.received(0, Ended{0, 3'000, 0, SIGTERM}, Time(2));
  (void)machine.received(1, Ended{2, 3'000, 0, 0}, Time(2));
  for (const std::size_t host : {0UL, 1UL}) {
    (void)machine.received(host, Gone{}, Time(3));
    const auto end = machine.received(host, Drained{}, Time(3));
    EXPECT_EQ(find<CoordinatorMachine::Finish>(end) != nullptr, host == 1);
  }
  const Outcome outcome = machine.outcome();
  EXPECT_EQ(outcome.status, Status::kFailed);
  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
  ASSERT_TRUE(outcome.culprit);
  EXPECT_EQ(outcome.culprit->rank, 1U);
  EXPECT_EQ(outcome.culprit->host, "h0");
  EXPECT_EQ(outcome.culprit->last_errors, "the cause\n");
  EXPECT_EQ(outcome.culprit->failed_after, std::vector<std::uint32_t>{3});
  EXPECT_EQ(outcome.culprit->ended_by_us, std::vector<std::uint32_t>{0});
  const std::string report = failure_report(outcome, "/no/run");
  EXPECT_NE(report.find("rank 1 (host h0"), std::string::npos) << report;
  EXPECT_NE(report.find("SIGSEGV"), std::string::npos) << report;
  EXPECT_NE(report.find("| the cause\n"), std::string::npos) << report;
}

TEST(CoordinatorMachine, AnEarlyGoodEndIsNoFailure) {
  CoordinatorMachine machine(plan_of({2}));
  make_ready(machine, 1);
  EXPECT_TRUE(machine.received(0, Ended{0, 1, 0, 0}, Time(0)).empty());
  (void)machine.received(0, Ended{1, 2, 0, 0}, Time(1));
  (void)machine.received(0, Gone{}, Time(2));
  EXPECT_NE(find<CoordinatorMachine::Finish>(machine.received(0, Drained{}, Time(2))), nullptr);
  EXPECT_EQ(machine.outcome().status, Status::kDone);
  EXPECT_EQ(machine.outcome().code, 0);
}

TEST(CoordinatorMachine, AnInterruptHasAShortGraceAndASecondOneKills) {
  CoordinatorMachine machine(plan_of({2}));
  make_ready(machine, 1);
  const auto once = machine.interrupted("interrupted", Time(0));
  ASSERT_NE(sent<Stop>(once), nullptr);
  EXPECT_EQ(sent<Stop>(once)->grace_ms, CoordinatorMachine::kInterruptGrace.count());
  EXPECT_NE(sent<Kill>(machine.interrupted("interrupted", Time(1))), nullptr);
  (void)machine.received(0, Ended{0, 1, 1, 0}, Time(2));
  (void)machine.received(0, Ended{1, 1, 0, SIGKILL}, Time(2));
  (void)machine.received(0, Gone{}, Time(3));
  (void)machine.received(0, Drained{}, Time(3));
  EXPECT_EQ(machine.outcome().status, Status::kInterrupted);
  EXPECT_EQ(machine.outcome().code, kExitInterrupted);
}

TEST(CoordinatorMachine, AnAgentThatDoesNotAnswerAnInterruptIsEndedWithinTwoSeconds) {
  CoordinatorMachine machine(plan_of({2}));
  make_ready(machine, 1);
  (void)machine.interrupted("interrupted", Time(0));
  ASSERT_TRUE(machine.deadline());
  EXPECT_LT(*machine.deadline(), seconds(2));
  const auto actions = machine.time_passed(*machine.deadline());
  EXPECT_NE(find<CoordinatorMachine::EndAgent>(actions), nullptr);
  EXPECT_NE(find<CoordinatorMachine::Sweep>(actions), nullptr);
  EXPECT_NE(find<CoordinatorMachine::Finish>(actions), nullptr);
}

TEST(CoordinatorMachine, ALostAgentIsNamedAndSweptFor) {
  CoordinatorMachine machine(plan_of({2}));
  make_ready(machine, 1);
  const auto actions = machine.agent_lost(0, 137, "was ended by SIGKILL", Time(1));
  EXPECT_NE(find<CoordinatorMachine::Sweep>(actions), nullptr);
  EXPECT_NE(find<CoordinatorMachine::Finish>(actions), nullptr);
  const Outcome outcome = machine.outcome();
  EXPECT_EQ(outcome.code, 137);
  EXPECT_EQ(outcome.source, ExitSource::kLauncher);
  EXPECT_EQ(failure_report(outcome, "/no/run"),
            "error: the agent on h0 (pid 100) was ended by SIGKILL\n");
}

TEST(CoordinatorMachine, AnAgentOfAnotherVersionIsRefusedBeforeAnythingStarts) {
  CoordinatorMachine machine(plan_of({1}));
  const auto actions = machine.received(0, Ready{"2", "h", 5, 4'000}, Time(0));
  EXPECT_EQ(sent<Start>(actions), nullptr);
  EXPECT_NE(sent<Stop>(actions), nullptr);
  EXPECT_EQ(machine.outcome().code, kExitNotStarted);
}

}  // namespace
}  // namespace lockstep::launcher
