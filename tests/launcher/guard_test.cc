// The guard's process itself, without a launcher.
#include "launcher/agent/guard.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "launcher/process/job_cgroup.h"
#include "launcher/process/job_processes.h"
#include "launcher/process/signals.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

GuardMachine::Time steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// Starts a guard; `agent` runs in its child. Returns the guard's pid.
pid_t guarded(const std::function<void(GuardLink&)>& agent,
              GuardMachine::Time silence = GuardMachine::kSilence) {
  const pid_t guard = checked(::fork(), "fork");
  if (guard != 0) return guard;
  // Here an exception ends the process instead of the test, of which this is a copy.
  const auto part = [&]() noexcept {
    GuardLink link = start_guard({.silence = silence});
    agent(link);
  };
  part();
  ::_exit(0);
}

int status_of(pid_t guard) {
  int status = 0;
  checked(::waitpid(guard, &status, 0), "waitpid");
  return status;
}

TEST(Guard, EndsAsItsAgentEnded) {
  const int exited = status_of(guarded([](GuardLink& link) {
    link.released();
    ::_exit(7);
  }));
  EXPECT_TRUE(WIFEXITED(exited));
  EXPECT_EQ(WEXITSTATUS(exited), 7);
  const int killed = status_of(guarded([](GuardLink&) { ::kill(::getpid(), SIGKILL); }));
  EXPECT_TRUE(WIFSIGNALED(killed));
  EXPECT_EQ(WTERMSIG(killed), SIGKILL);
}

TEST(Guard, RemovesTheJobsControlGroup) {
  const auto parent = own_cgroup();
  if (!parent || !JobCgroup::make(*parent, random_job_id())) {
    GTEST_SKIP() << "no control group of version 2 may be made here";
  }
  Pipe id = make_pipe(), go = make_pipe();
  const pid_t guard = guarded([&id, &go](GuardLink& link) {
    checked(::write(id.write.get(), link.job_id().data(), link.job_id().size()), "write");
    char byte = 0;
    checked(::read(go.read.get(), &byte, 1), "read");
    link.released();
  });
  std::string job_id(32, '?');
  ASSERT_EQ(::read(id.read.get(), job_id.data(), job_id.size()), 32);
  const auto folder = *parent / ("lockstep-" + job_id);
  EXPECT_TRUE(std::filesystem::exists(folder));
  checked(::write(go.write.get(), "x", 1), "write");
  EXPECT_EQ(status_of(guard), 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Guard, PassesATermOnToTheAgent) {
  Pipe ready = make_pipe();
  const pid_t guard = guarded([&ready](GuardLink& link) {
    const Signals signals{SIGTERM};
    checked(::write(ready.write.get(), "x", 1), "write");
    pollfd arrived{signals.fd(), POLLIN, 0};
    ::poll(&arrived, 1, 60'000);
    link.released();
    ::_exit(signals.next() == SIGTERM ? 9 : 1);
  });
  char byte = 0;
  ASSERT_EQ(::read(ready.read.get(), &byte, 1), 1);
  ::kill(guard, SIGTERM);
  EXPECT_EQ(WEXITSTATUS(status_of(guard)), 9);
}

TEST(Guard, HoldsNothingOfTheAgents) {
  Pipe output = make_pipe(), go = make_pipe();
  const pid_t guard = guarded([&output, &go](GuardLink& link) {
    output.write.reset();
    char byte = 0;
    checked(::read(go.read.get(), &byte, 1), "read");
    link.released();
    ::_exit(0);
  });
  output.write.reset();
  // The end of the stream comes while guard and agent live, so nobody else holds the other end.
  pollfd ended{output.read.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 60'000), 1);
  EXPECT_EQ(::waitpid(guard, nullptr, WNOHANG), 0);
  checked(::write(go.write.get(), "x", 1), "write");
  EXPECT_EQ(WEXITSTATUS(status_of(guard)), 0);
}

TEST(Guard, AnAgentThatBeatsIsLeftAloneAndOneThatStopsIsEnded) {
  static constexpr std::chrono::milliseconds kShort{200};
  const int beating = status_of(guarded(
      [](GuardLink& link) {
        const auto end = steady_now() + 3 * GuardMachine::Time(kShort);
        while (steady_now() < end) {
          link.beat(steady_now());
          ::poll(nullptr, 0, 5);
        }
        link.released();
        ::_exit(0);
      },
      kShort));
  EXPECT_TRUE(WIFEXITED(beating));
  const int stopped = status_of(guarded([](GuardLink&) { ::kill(::getpid(), SIGSTOP); }, kShort));
  EXPECT_TRUE(WIFSIGNALED(stopped));
  EXPECT_EQ(WTERMSIG(stopped), SIGKILL);
}

TEST(Guard, ItsEndIsSeenByTheAgent) {
  Pipe seen = make_pipe();
  const pid_t guard = guarded([&seen](GuardLink& link) {
    checked(::write(seen.write.get(), "a", 1), "write");
    pollfd ended{link.guard(), POLLIN, 0};
    if (::poll(&ended, 1, 60'000) == 1) checked(::write(seen.write.get(), "b", 1), "write");
  });
  char byte = 0;
  ASSERT_EQ(::read(seen.read.get(), &byte, 1), 1);
  ::kill(guard, SIGKILL);
  seen.write.reset();
  EXPECT_EQ(::read(seen.read.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'b');
  (void)status_of(guard);
}

}  // namespace
}  // namespace lockstep::launcher
