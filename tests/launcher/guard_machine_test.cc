// What a guard decides, and what Ctrl-Z means, without a process.
#include <gtest/gtest.h>

#include <csignal>

#include "launcher/agent/guard_machine.h"
#include "launcher/coordinator/job_control.h"

namespace lockstep::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = GuardMachine::Time;

template <typename Kind, typename Actions>
bool has(const Actions& actions) {
  for (const auto& action : actions) {
    if (std::holds_alternative<Kind>(action)) return true;
  }
  return false;
}

// Calls it at its deadlines until it acts; returns when that was.
Time time_of_next_action(GuardMachine& guard) {
  while (true) {
    const Time now = guard.deadline().value();
    if (!guard.time_passed(now).empty()) return now;
  }
}

TEST(GuardMachine, AJobThatEndsWellIsNotTouched) {
  GuardMachine guard(seconds(10), Time(0));
  EXPECT_TRUE(guard.beat(seconds(1)).empty());
  EXPECT_TRUE(guard.released().empty());
  const auto actions = guard.agent_ended(seconds(2));
  EXPECT_TRUE(has<GuardMachine::Leave>(actions));
  EXPECT_FALSE(has<GuardMachine::EndJob>(actions));
  EXPECT_EQ(guard.deadline(), std::nullopt);
}

TEST(GuardMachine, AnAgentThatDiesHasItsJobEndedUntilNothingIsLeft) {
  GuardMachine guard(seconds(10), Time(0));
  EXPECT_TRUE(has<GuardMachine::EndJob>(guard.agent_ended(seconds(1))));
  EXPECT_TRUE(guard.swept(3, seconds(1)).empty());
  EXPECT_TRUE(guard.time_passed(seconds(1)).empty());
  EXPECT_TRUE(has<GuardMachine::EndJob>(guard.time_passed(guard.deadline().value())));
  EXPECT_TRUE(has<GuardMachine::Leave>(guard.swept(0, seconds(2))));
  EXPECT_TRUE(guard.time_passed(seconds(100)).empty());
}

TEST(GuardMachine, ASilentAgentIsEndedWithItsJobAfterTheSilence) {
  GuardMachine guard(seconds(10), Time(0));
  (void)guard.beat(seconds(3));
  const Time ended_at = time_of_next_action(guard);
  EXPECT_GE(ended_at, seconds(13));
  EXPECT_LE(ended_at, seconds(14));
  // It is there until its process has ended, though nothing else is.
  EXPECT_FALSE(has<GuardMachine::Leave>(guard.swept(0, ended_at)));
  (void)guard.agent_ended(ended_at + milliseconds(1));
  EXPECT_TRUE(has<GuardMachine::Leave>(guard.swept(0, ended_at + milliseconds(20))));
}

TEST(GuardMachine, SilenceIsSaid) {
  GuardMachine guard(seconds(1), Time(0));
  GuardMachine::Actions actions;
  while (actions.empty()) actions = guard.time_passed(guard.deadline().value());
  ASSERT_TRUE(has<GuardMachine::Complain>(actions));
  EXPECT_NE(std::get<GuardMachine::Complain>(actions[0]).text.find("no sign of life for 1 s"),
            std::string::npos);
  EXPECT_TRUE(has<GuardMachine::EndJob>(actions));
}

TEST(GuardMachine, ARestOfTheWholeHostIsNotSilence) {
  GuardMachine guard(seconds(10), Time(0));
  EXPECT_TRUE(guard.time_passed(seconds(3600)).empty()) << "the guard did not run either";
  EXPECT_TRUE(guard.time_passed(seconds(3601)).empty());
  (void)guard.beat(seconds(3602));
  EXPECT_GE(time_of_next_action(guard), seconds(3612));
}

TEST(GuardMachine, AnAgentThatStopsAfterItsReleaseIsEndedToo) {
  GuardMachine guard(seconds(10), Time(0));
  (void)guard.released();
  EXPECT_LE(time_of_next_action(guard), seconds(11));
}

TEST(GuardMachine, WhatHangsInTheKernelIsNotWaitedForForEver) {
  GuardMachine guard(seconds(10), Time(0));
  (void)guard.agent_ended(Time(0));
  EXPECT_TRUE(guard.swept(1, seconds(9)).empty());
  const auto actions = guard.swept(1, seconds(10));
  EXPECT_TRUE(has<GuardMachine::Complain>(actions));
  EXPECT_TRUE(has<GuardMachine::Leave>(actions));
}

int signalled(const JobControl::Actions& actions) {
  if (actions.size() != 1) return 0;
  const auto* workers = std::get_if<JobControl::SignalWorkers>(&actions[0]);
  return workers != nullptr ? workers->signal : 0;
}

TEST(JobControl, CtrlZStopsTheWorkersBeforeTheLauncherAndFgResumesThem) {
  JobControl control;
  EXPECT_EQ(signalled(control.signalled(SIGTSTP, Time(0))), SIGTSTP);
  EXPECT_TRUE(control.time_passed(JobControl::kTelling - Time(1)).empty());
  EXPECT_TRUE(has<JobControl::StopSelf>(control.told()));
  EXPECT_TRUE(control.stopped());
  EXPECT_EQ(control.deadline(), std::nullopt);
  EXPECT_EQ(signalled(control.signalled(SIGCONT, seconds(100))), SIGCONT);
  EXPECT_FALSE(control.stopped());
}

TEST(JobControl, AHostThatDoesNotListenDoesNotKeepTheTerminal) {
  JobControl control;
  (void)control.signalled(SIGTSTP, Time(0));
  EXPECT_TRUE(has<JobControl::StopSelf>(control.time_passed(control.deadline().value())));
  EXPECT_TRUE(control.told().empty()) << "once is enough";
}

TEST(JobControl, ASecondCtrlZWhileTellingChangesNothing) {
  JobControl control;
  (void)control.signalled(SIGTSTP, Time(0));
  EXPECT_TRUE(control.signalled(SIGTSTP, Time(1)).empty());
  EXPECT_EQ(control.deadline(), JobControl::kTelling);
}

TEST(JobControl, ResumedBeforeItStoppedItDoesNotStop) {
  JobControl control;
  (void)control.signalled(SIGTSTP, Time(0));
  EXPECT_EQ(signalled(control.signalled(SIGCONT, Time(1))), SIGCONT);
  EXPECT_TRUE(control.told().empty());
  EXPECT_EQ(control.deadline(), std::nullopt);
}

}  // namespace
}  // namespace lockstep::launcher
