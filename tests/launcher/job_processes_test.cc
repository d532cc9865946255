// Finding and ending the processes of a job, with real ones.
#include "launcher/process/job_processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <utility>

#include "launcher/process/spawn.h"
#include "launcher/process/system_call.h"
#include "tests/launcher/eventually.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

bool lives(pid_t pid) {
  const auto process = read_process(pid);
  return process && is_living(*process);
}

bool is_among(pid_t pid, const std::vector<ProcessEntry>& processes) {
  return std::ranges::any_of(processes,
                             [pid](const ProcessEntry& p) { return p.identity.pid == pid; });
}

// A process of a session of its own whose parent is gone, with this environment.
class Orphan {
 public:
  explicit Orphan(const std::vector<std::string>& environment) {
    const TemporaryFolder folder;
    ProcessPlan plan;
    plan.file = "/bin/sh";
    plan.args = {"sh", "-c", "setsid sleep 1000 & echo $! >pid"};
    plan.environment = environment;
    plan.environment.emplace_back("PATH=/usr/bin:/bin");
    plan.directory = folder.path();
    const Process shell = spawn(plan);
    ::waitpid(shell.pid, nullptr, 0);
    std::ifstream(folder.path() / "pid") >> pid_;
    // Until then it is a copy of the shell.
    const std::string command = "/proc/" + std::to_string(pid_) + "/comm";
    EXPECT_TRUE(eventually([&command] {
      std::string name;
      return static_cast<bool>(std::ifstream(command) >> name) && name == "sleep";
    }));
  }
  Orphan(const Orphan&) = delete;
  Orphan& operator=(const Orphan&) = delete;
  ~Orphan() { ::kill(pid_, SIGKILL); }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

// Runs the part in a child of the test that is a subreaper; true where it returned true.
bool in_subreaper(const std::function<bool()>& part) {
  const pid_t child = checked(::fork(), "fork");
  if (child == 0) {
    // Here an exception ends the process instead of the test, of which this is a copy.
    const auto guarded = [&part]() noexcept {
      become_subreaper();
      return part();
    };
    ::_exit(guarded() ? 0 : 1);
  }
  int status = 0;
  checked(::waitpid(child, &status, 0), "waitpid");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ends(const JobProcesses& job) {
  return eventually([&job] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return job.end() == 0;
  });
}

TEST(JobProcesses, IdsAreLongAndNeverTheSame) {
  const std::string id = random_job_id();
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(id, random_job_id());
}

TEST(JobProcesses, OnlyTheExactMarkIsTheJobs) {
  const std::string id = random_job_id();
  const JobProcesses job(id, std::nullopt);
  const Orphan first({"LOCKSTEP_JOB=" + id}), last({"A=1", "LOCKSTEP_JOB=" + id});
  const Orphan longer({"LOCKSTEP_JOB=" + id + "0"});
  const Orphan shorter({"LOCKSTEP_JOB=" + id.substr(0, 31)});
  const Orphan within({"A=LOCKSTEP_JOB=" + id}), before({"XLOCKSTEP_JOB=" + id});
  const Orphan other({"LOCKSTEP_JOB=" + random_job_id()});
  EXPECT_EQ(job.find().size(), 2U);
  EXPECT_TRUE(ends(job));
  EXPECT_TRUE(eventually([&] { return !lives(first.pid()) && !lives(last.pid()); }));
  for (const Orphan* spared : {&longer, &shorter, &within, &before, &other}) {
    EXPECT_TRUE(lives(spared->pid()));
  }
}

TEST(JobProcesses, AMarkIsFoundInALargeEnvironment) {
  const std::string id = random_job_id();
  const JobProcesses job(id, std::nullopt);
  const Orphan orphan({"A=" + std::string(100'000, 'L'), "LOCKSTEP_JOB=" + id});
  EXPECT_TRUE(is_among(orphan.pid(), job.find()));
  EXPECT_TRUE(ends(job));
}

TEST(JobProcesses, WhatClearedItsEnvironmentIsFoundByDescent) {
  EXPECT_TRUE(in_subreaper([] {
    const JobProcesses job(random_job_id(), std::nullopt);
    const Orphan orphan({});
    return is_among(orphan.pid(), job.find()) && ends(job) && !lives(orphan.pid());
  }));
}

TEST(JobProcesses, ChildrenFromBeforeAreNotTheJobs) {
  EXPECT_TRUE(in_subreaper([] {
    const Orphan earlier({});
    const JobProcesses job(random_job_id(), std::nullopt);
    const Orphan orphan({});
    return ends(job) && !lives(orphan.pid()) && lives(earlier.pid());
  }));
}

TEST(JobProcesses, AStoppedProcessEnds) {
  EXPECT_TRUE(in_subreaper([] {
    const JobProcesses job(random_job_id(), std::nullopt);
    const Orphan orphan({});
    ::kill(orphan.pid(), SIGSTOP);
    return ends(job) && !lives(orphan.pid());
  }));
}

// Each process starts others as fast as it can, `budget` in all.
[[noreturn]] void multiply(int budget) {
  while (true) {
    char token = 0;
    if (::read(budget, &token, 1) != 1) ::pause();
    ::fork();
  }
}

// Each process starts another and ends, `budget` times in all.
[[noreturn]] void hop(int budget) {
  ::setsid();
  while (true) {
    char token = 0;
    if (::read(budget, &token, 1) != 1) ::pause();
    if (::fork() != 0) ::_exit(0);
  }
}

UniqueFd budget_of(std::size_t processes) {
  const Pipe pipe = make_pipe();
  const std::string tokens(processes, 'x');
  checked(::write(pipe.write.get(), tokens.data(), tokens.size()), "write");
  return UniqueFd(checked(::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, 3), "fcntl"));
}

TEST(JobProcesses, AForkBombDoesNotWin) {
  EXPECT_TRUE(in_subreaper([] {
    const JobProcesses job(random_job_id(), std::nullopt);
    const UniqueFd budget = budget_of(500);
    if (checked(::fork(), "fork") == 0) multiply(budget.get());
    return eventually([&job] { return job.find().size() > 20; }) && ends(job) && job.find().empty();
  }));
}

TEST(ProcessTable, AReusedPidIsLeftAlone) {
  const Orphan orphan({});
  const auto process = read_process(orphan.pid());
  ASSERT_TRUE(process);
  ProcessIdentity earlier = process->identity;
  --earlier.started;
  EXPECT_EQ(signal_process(earlier, SIGKILL), Signalled::kGone);
  EXPECT_EQ(signal_process(process->identity, 0), Signalled::kYes);
  EXPECT_TRUE(lives(orphan.pid()));
}

class Grouped : public testing::Test {
 protected:
  void SetUp() override {
    become_subreaper();  // so that all that they start is waited for
    const auto parent = own_cgroup();
    auto made = parent ? JobCgroup::make(*parent, random_job_id()) : std::nullopt;
    if (made) group_.emplace(std::move(*made));
    if (!group_) GTEST_SKIP() << "no control group of version 2 may be made here";
  }
  // Starts `part` in the group.
  void start(const std::function<void()>& part) const {
    if (checked(::fork(), "fork") != 0) return;
    if (group_->enter()) part();
    ::_exit(0);
  }
  void TearDown() override {
    if (group_) group_->kill();
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }
  std::optional<JobCgroup> group_;
};

TEST_F(Grouped, WhatHopsFromProcessToProcessEnds) {
  const UniqueFd budget = budget_of(5'000);
  start([&budget] { hop(budget.get()); });
  ASSERT_TRUE(eventually([this] { return !group_->processes().empty(); }));
  EXPECT_TRUE(eventually([this] {
    group_->kill();
    return group_->processes().empty();
  }));
  char token = 0;
  EXPECT_EQ(::read(budget.get(), &token, 1), 1) << "it was ended before it came to its end";
}

TEST_F(Grouped, AnOlderKernelEndsItFrozen) {
  const UniqueFd budget = budget_of(200);
  start([&budget] { multiply(budget.get()); });
  ASSERT_TRUE(eventually([this] { return group_->processes().size() > 20; }));
  EXPECT_TRUE(group_->kill_frozen());
  EXPECT_TRUE(eventually([this] { return group_->processes().empty(); }));
}

TEST_F(Grouped, GroupsThatTheJobMadeBelowGoWithIt) {
  const fs::path below = group_->folder() / "jobs-own";
  start([&below] {
    fs::create_directory(below);
    std::ofstream(below / "cgroup.procs") << 0 << std::flush;
    ::pause();
  });
  const fs::path folder = group_->folder();
  ASSERT_TRUE(eventually([this, &folder] {
    return group_->processes().size() == 1 &&
           std::ifstream(folder / "cgroup.procs").peek() == std::ifstream::traits_type::eof();
  }));
  group_->kill();
  TearDown();
  group_.reset();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace lockstep::launcher
