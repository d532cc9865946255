// The agent's decisions, without a process.
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "launcher/agent/agent_machine.h"

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

Start start_of(std::uint32_t workers, std::uint32_t generation = 0) {
  Start start;
  start.job.generation = generation;
  start.job.world = start.job.local_world = workers;
  return start;
}

TEST(AgentMachine, AnAttemptEndsByItselfWhenAllWorkersDid) {
  AgentMachine agent(std::nullopt, Time(0));
  EXPECT_NE(find<AgentMachine::StartWorkers>(agent.received(start_of(2), 0, Time(0))), nullptr);
  EXPECT_EQ(find<AgentMachine::Sweep>(agent.worker_ended(0, {}, 1, Time(1))), nullptr);
  const auto last = agent.worker_ended(1, {3, 0}, 2, Time(2));
  ASSERT_NE(sent<Ended>(last), nullptr);
  EXPECT_EQ(sent<Ended>(last)->code, 3);
  ASSERT_NE(find<AgentMachine::Sweep>(last), nullptr);
  EXPECT_EQ(find<AgentMachine::Sweep>(last)->signal, SIGTERM);
  EXPECT_NE(sent<Gone>(agent.swept(0, Time(3))), nullptr);
  EXPECT_NE(sent<Drained>(agent.output_drained()), nullptr);
  EXPECT_TRUE(agent.output_drained().empty());
  EXPECT_NE(find<AgentMachine::Exit>(agent.received(Dismiss{}, 0, Time(4))), nullptr);
}

TEST(AgentMachine, WhatWorkersLeftBehindIsAskedThenKilled) {
  AgentMachine agent(std::nullopt, Time(0));
  (void)agent.received(start_of(1), 0, Time(0));
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
  AgentMachine agent(std::nullopt, Time(0));
  (void)agent.received(start_of(2), 0, Time(0));
  const auto stop = agent.received(Stop{0, 500}, 0, Time(0));
  ASSERT_NE(find<AgentMachine::SignalGroups>(stop), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(stop)->signal, SIGTERM);
  EXPECT_TRUE(agent.time_passed(milliseconds(499)).empty());
  const auto kill = agent.time_passed(milliseconds(500));
  ASSERT_NE(find<AgentMachine::SignalGroups>(kill), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(kill)->signal, SIGKILL);
  EXPECT_NE(find<AgentMachine::Sweep>(kill), nullptr);
}

TEST(AgentMachine, LosingTheCoordinatorKillsAtOnceAndNeedsNoReader) {
  AgentMachine agent(std::nullopt, Time(0));
  (void)agent.received(start_of(1), 0, Time(0));
  const auto lost = agent.coordinator_lost(Time(1));
  ASSERT_NE(find<AgentMachine::SignalGroups>(lost), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(lost)->signal, SIGKILL);
  EXPECT_NE(find<AgentMachine::DiscardOutput>(lost), nullptr);
  (void)agent.worker_ended(0, {0, SIGKILL}, 1, Time(2));
  EXPECT_NE(find<AgentMachine::Exit>(agent.swept(0, Time(3))), nullptr);
}

TEST(AgentMachine, ProcessesThatHangInTheKernelAreNamedAndNotWaitedForForever) {
  AgentMachine agent(std::nullopt, Time(0));
  (void)agent.received(start_of(1), 0, Time(0));
  (void)agent.received(Kill{}, 0, Time(0));
  EXPECT_EQ(sent<Gone>(agent.swept(1, Time(0))), nullptr);
  const auto end = agent.swept(1, AgentMachine::kKillingLimit);
  EXPECT_NE(sent<Note>(end), nullptr);
  EXPECT_NE(sent<Gone>(end), nullptr);
}

TEST(AgentMachine, AfterAnAttemptComesTheNextOfAHigherGenerationOnly) {
  AgentMachine agent(std::nullopt, Time(0));
  (void)agent.received(start_of(1, 4), 0, Time(0));
  (void)agent.worker_ended(0, {1, 0}, 1, Time(1));
  (void)agent.swept(0, Time(2));
  (void)agent.output_drained();
  EXPECT_TRUE(agent.received(start_of(1, 4), 0, Time(3)).empty()) << "that attempt is over";
  EXPECT_NE(find<AgentMachine::StartWorkers>(agent.received(start_of(1, 5), 0, Time(3))), nullptr);
  EXPECT_TRUE(agent.received(Stop{4, 0}, 0, Time(4)).empty())
      << "a stop of an attempt that is over";
}

TEST(AgentMachine, AnAttemptThatIsStoppedBeforeItBeganHereIsGoneAtOnce) {
  AgentMachine agent(std::nullopt, Time(0));
  const auto stopped = agent.received(Stop{3, 1'000}, 0, Time(0));
  ASSERT_NE(sent<Gone>(stopped), nullptr);
  EXPECT_EQ(sent<Gone>(stopped)->generation, 3U);
  EXPECT_NE(sent<Drained>(stopped), nullptr);
  EXPECT_TRUE(agent.received(start_of(1, 3), 0, Time(1)).empty());
}

TEST(AgentMachine, ASilentCoordinatorIsLostUnlessItSaidThatItWouldBe) {
  AgentMachine agent(seconds(10), Time(0));
  (void)agent.received(start_of(1), 0, Time(0));
  const auto pong = agent.received(Ping{7}, 42, seconds(5));
  ASSERT_NE(sent<Pong>(pong), nullptr);
  EXPECT_EQ(sent<Pong>(pong)->number, 7U);
  EXPECT_EQ(sent<Pong>(pong)->time_ns, 42);
  EXPECT_TRUE(agent.time_passed(seconds(14)).empty());
  const auto paused = agent.received(Pause{}, 0, seconds(14));
  ASSERT_NE(find<AgentMachine::SignalGroups>(paused), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(paused)->signal, SIGSTOP);
  EXPECT_TRUE(agent.time_passed(seconds(100)).empty());
  (void)agent.received(Resume{}, 0, seconds(100));
  EXPECT_EQ(agent.deadline(), Time(seconds(110)));
  const auto lost = agent.time_passed(seconds(110));
  ASSERT_NE(find<AgentMachine::SignalGroups>(lost), nullptr);
  EXPECT_EQ(find<AgentMachine::SignalGroups>(lost)->signal, SIGKILL);
}

// Whatever is asked in whatever order, time alone brings an agent to its end once it was told to.
TEST(AgentMachine, EveryHistoryEndsInGone) {
  for (unsigned seed = 0; seed < 2'000; ++seed) {
    std::mt19937 random(seed);
    AgentMachine agent(std::nullopt, Time(0));
    Time now(0);
    std::uint32_t living = 0, next = 0, leftovers = 0;
    bool killed = false;
    const auto apply = [&](auto&& self, const AgentMachine::Actions& actions) -> void {
      for (const auto& action : actions) {
        if (const auto* start = std::get_if<AgentMachine::StartWorkers>(&action)) {
          living = start->job.local_world;
          leftovers = random() % 3;
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
          apply(apply, agent.received(start_of(1 + random() % 4), 0, now));
          break;
        case 1:
          apply(apply,
                agent.received(Stop{0, static_cast<std::int64_t>(random() % 2'000)}, 0, now));
          break;
        case 2:
          if (step > 20) apply(apply, agent.coordinator_lost(now));
          break;
        case 3:
          if (step > 50) apply(apply, agent.received(Kill{}, 0, now));
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

}  // namespace
}  // namespace lockstep::launcher
