// Nothing of a job survives its launcher, agent or guard, whichever is killed or stopped, and no
// other job is touched.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <ostream>

#include "launcher/process/job_cgroup.h"
#include "launcher/process/process_table.h"
#include "tests/launcher/launched.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr int kWorkers = 2;

bool lives(pid_t pid) {
  const auto process = read_process(pid);
  return process && is_living(*process);
}

// `lockstep` beside an agent that may be silent for half a second only.
class ShortSilence {
 public:
  ShortSilence() {
    fs::copy_file(lockstep_program(), folder_.path() / "lockstep");
    const fs::path script = folder_.path() / "lockstep-agent";
    std::ofstream(script) << "#!/bin/sh\nexec '" << lockstep_program()
                          << "-agent' --guard-silence 500 \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
  }
  [[nodiscard]] std::string program() const { return folder_.path() / "lockstep"; }

 private:
  TemporaryFolder folder_;
};

// Runs what follows where no control group can be seen.
std::vector<std::string> without_cgroup() {
  return {"/usr/bin/unshare", "-m", "sh", "-c",
          "while read -r _ _ _ _ point _ rest; do case \"$rest\" in *' - cgroup2 '*|'- cgroup2 '*) "
          "mount -t tmpfs none \"$point\";; esac; done </proc/self/mountinfo; exec \"$0\" \"$@\""};
}

enum class Victim { kLauncher, kAgent, kGuard };

struct Blow {
  std::string name;
  std::vector<Victim> victims;
  int signal = SIGKILL;
  bool with_cgroup = true;
};

std::ostream& operator<<(std::ostream& stream, const Blow& blow) {
  return stream << blow.name;
}

class NothingSurvives : public testing::Test {
 protected:
  static void wait_until_ready(const Launched& job) {
    ASSERT_TRUE(eventually([&job] {
      for (int rank = 0; rank < kWorkers; ++rank) {
        if (!fs::exists(job.folder() / ("ready" + std::to_string(rank)))) return false;
      }
      return true;
    })) << job.err();
  }
  // What cleared its environment, mark included.
  static std::vector<pid_t> cleared(const Launched& job) {
    std::vector<pid_t> pids(kWorkers);
    for (int rank = 0; rank < kWorkers; ++rank) {
      std::ifstream(job.folder() / ("cleared" + std::to_string(rank))) >> pids[rank];
    }
    return pids;
  }
  // A process that was executed by a script has the path that the script gave.
  static pid_t one_of(const Launched& job, Victim victim) {
    if (victim == Victim::kLauncher) return job.pid();
    const std::string program = lockstep_program();
    const std::string name = victim == Victim::kAgent ? "-agent" : "-guard";
    const pid_t pid = job.process_named("lockstep" + name);
    return pid != 0 ? pid : job.process_named(program + name);
  }
};

class AfterABlow : public NothingSurvives, public testing::WithParamInterface<Blow> {};

TEST_P(AfterABlow, NothingIsLeftAndNoOtherJobIsTouched) {
  const Blow& blow = GetParam();
  if (!blow.with_cgroup && ::geteuid() != 0) GTEST_SKIP() << "hiding a mount takes root";
  const ShortSilence lockstep;
  Launched::Setup setup{.args = launch({"-n", std::to_string(kWorkers)}, worker("stubborn")),
                        .program = lockstep.program()};
  if (!blow.with_cgroup) setup.through = without_cgroup();
  Launched job(setup), other(setup);
  wait_until_ready(job);
  wait_until_ready(other);
  const std::vector<pid_t> others = other.processes();
  const std::vector<pid_t> unmarked = cleared(job), others_unmarked = cleared(other);
  // Launcher, guard, agent, and of each worker itself with three that carry the mark.
  ASSERT_EQ(job.processes().size(), 3U + 4U * kWorkers);
  for (const pid_t pid : unmarked) ASSERT_TRUE(lives(pid));

  std::vector<pid_t> victims;
  for (const Victim victim : blow.victims) victims.push_back(one_of(job, victim));
  for (const pid_t pid : victims) {
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, blow.signal), 0);
  }
  const auto gone = [&job, &unmarked] {
    return job.processes().empty() && std::ranges::none_of(unmarked, lives);
  };
  EXPECT_TRUE(eventually(gone, seconds(5))) << job.err();
  EXPECT_EQ(other.processes(), others);
  for (const pid_t pid : others_unmarked) EXPECT_TRUE(lives(pid));
  other.signal(SIGINT);
  EXPECT_EQ(other.wait(), 130) << other.err();
  for (const pid_t pid : others_unmarked) EXPECT_FALSE(lives(pid));
}

INSTANTIATE_TEST_SUITE_P(
    NothingSurvives, AfterABlow,
    testing::Values(Blow{"LauncherKilled", {Victim::kLauncher}},
                    Blow{"AgentKilled", {Victim::kAgent}}, Blow{"GuardKilled", {Victim::kGuard}},
                    Blow{"AgentAndLauncherKilled", {Victim::kAgent, Victim::kLauncher}},
                    Blow{"GuardAndLauncherKilled", {Victim::kGuard, Victim::kLauncher}},
                    Blow{"AgentAndGuardKilled", {Victim::kAgent, Victim::kGuard}},
                    Blow{"AgentStopped", {Victim::kAgent}, SIGSTOP},
                    Blow{"AgentAndLauncherKilledWithoutACgroup",
                         {Victim::kAgent, Victim::kLauncher},
                         SIGKILL,
                         false},
                    Blow{"AgentStoppedWithoutACgroup", {Victim::kAgent}, SIGSTOP, false}),
    [](const auto& blow) { return blow.param.name; });

TEST_F(NothingSurvives, NotEvenWhenTheAgentsWholeGroupIsKilledAndTheLauncher) {
  Launched job({.args = launch({"-n", std::to_string(kWorkers)}, worker("stubborn"))});
  wait_until_ready(job);
  const std::vector<pid_t> unmarked = cleared(job);
  const pid_t agent = one_of(job, Victim::kAgent), guard = one_of(job, Victim::kGuard);
  ASSERT_GT(agent, 0);
  ASSERT_GT(guard, 0);
  EXPECT_NE(::getsid(agent), ::getsid(guard));
  ASSERT_EQ(::kill(-::getpgid(agent), SIGKILL), 0);
  job.signal(SIGKILL);
  EXPECT_TRUE(eventually(
      [&job, &unmarked] {
        return job.processes().empty() && std::ranges::none_of(unmarked, lives);
      },
      seconds(5)))
      << job.err();
}

TEST(Guard, AJobHasAControlGroupWhereItMayAndLeavesNothingInIt) {
  const auto parent = own_cgroup();
  if (!parent || !JobCgroup::make(*parent, "test-" + std::to_string(::getpid()))) {
    GTEST_SKIP() << "no control group of version 2 may be made here";
  }
  Launched job({.args = launch({"-n", "1"}, worker("patient"))});
  ASSERT_TRUE(eventually([&job] { return fs::exists(job.folder() / "ready0"); })) << job.err();
  const std::string groups =
      contents("/proc/" + std::to_string(job.process_named(python())) + "/cgroup");
  const std::size_t at = groups.find("/lockstep-");
  ASSERT_NE(at, std::string::npos) << groups;
  const fs::path folder = *parent / groups.substr(at + 1, groups.find('\n', at) - at - 1);
  EXPECT_TRUE(fs::exists(folder)) << folder;
  std::ofstream(job.folder() / "go").flush();
  EXPECT_EQ(job.wait(), 0) << job.err();
  // A launcher that did not wait for the guard leaves it empty; the next job removes it.
  const fs::path processes = folder / "cgroup.procs";
  EXPECT_TRUE(eventually([&processes] { return contents(processes).empty(); }));
}

// Makes a memory-limited group of either version, where one may be made, and runs what follows in
// it.
std::vector<std::string> in_little_memory() {
  return {"/bin/sh", "-c",
          "for d in /sys/fs/cgroup /sys/fs/cgroup/memory; do g=$d/lockstep-test-$$; "
          "mkdir $g 2>/dev/null || continue; for f in memory.max memory.limit_in_bytes; do "
          "if [ -f $g/$f ]; then echo 400000000 >$g/$f && echo $$ >$g/cgroup.procs && "
          "echo $g >group && exec \"$0\" \"$@\"; fi; done; rmdir $g; done; echo none >group"};
}

TEST(Oom, AWorkerThatTheKernelKilledForMemoryIsNamedSo) {
  Launched job({.args = launch({"-n", "2"}, worker("eater")), .through = in_little_memory()});
  const int code = job.wait();
  std::string group = contents(job.folder() / "group");
  group.erase(group.find_last_not_of('\n') + 1);
  if (group == "none") GTEST_SKIP() << "no control group that limits memory may be made here";
  EXPECT_EQ(code, 137) << job.err();
  EXPECT_NE(job.err().find("error: rank 1 (host "), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("by the kernel because memory ran out ("), std::string::npos)
      << job.err();
  EXPECT_TRUE(eventually([&group] { return ::rmdir(group.c_str()) == 0; }));
}

}  // namespace
}  // namespace lockstep::launcher
