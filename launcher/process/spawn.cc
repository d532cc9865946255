#include "launcher/process/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "launcher/process/pidfd.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

enum class Step : int { kNone, kParent, kDescriptors, kDirectory, kBinding, kExec };

struct Failure {
  Step step = Step::kNone;
  int error = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

// Only async-signal-safe calls: the parent may have threads.
[[noreturn]] void fail(int report, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_DFL) continue;
    if (number == SIGHUP && action.sa_handler == SIG_IGN) continue;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    ::sigaction(number, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The CPUs of a plan as the kernel takes them.
cpu_set_t mask_of(const std::vector<int>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(cpu, &mask);
  return mask;
}

[[noreturn]] void become(const ProcessPlan& plan, char* const* args, char* const* environment,
                         pid_t parent, int report) {
  ::setpgid(0, 0);
  if (plan.parting == Parting::kDiesWithParent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report, Step::kParent);
    // The parent may have died between fork and prctl, and then no signal comes.
    if (::getppid() != parent) ::_exit(127);
  }
  const int wanted[3] = {plan.in, plan.out, plan.err};
  for (int fd = 0; fd <= 2; ++fd) {
    if (wanted[fd] != fd && ::dup2(wanted[fd], fd) < 0) fail(report, Step::kDescriptors);
  }
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) fail(report, Step::kDescriptors);
  if (plan.inherited >= 0 && ::fcntl(plan.inherited, F_SETFD, 0) != 0) {
    fail(report, Step::kDescriptors);
  }
  if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) {
    fail(report, Step::kDirectory);
  }
  if (!plan.cpus.empty()) {
    const cpu_set_t mask = mask_of(plan.cpus);
    if (::sched_setaffinity(0, sizeof mask, &mask) != 0) fail(report, Step::kBinding);
  }
  reset_signals();
  ::execve(plan.file.c_str(), args, environment);
  fail(report, Step::kExec);
}

std::string describe(const Failure& failure, const ProcessPlan& plan) {
  const std::string cause = std::strerror(failure.error);
  switch (failure.step) {
    case Step::kDirectory:
      return fmt::format("cannot enter the directory '{}': {}", plan.directory, cause);
    case Step::kBinding:
      return fmt::format("cannot bind '{}' to its CPUs: {}", plan.file, cause);
    case Step::kExec:
      if (failure.error == ENOEXEC) {
        return fmt::format(
            "cannot execute '{}': {} (a script needs a first line such as "
            "'#!/bin/sh')",
            plan.file, cause);
      }
      return fmt::format("cannot execute '{}': {}", plan.file, cause);
    default:
      return fmt::format("cannot prepare the process for '{}': {}", plan.file, cause);
  }
}

}  // namespace

Process spawn(const ProcessPlan& plan) {
  const std::vector<char*> args = pointers(plan.args);
  const std::vector<char*> environment = pointers(plan.environment);
  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  const pid_t pid = checked(::fork(), "fork");
  if (pid == 0) become(plan, args.data(), environment.data(), parent, report.write.get());

  ::setpgid(pid, pid);  // here too, so that a signal to the group finds it at once
  report.write.reset();
  Failure failure;
  ssize_t got = 0;
  do {
    got = ::read(report.read.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != 0) {
    ::waitpid(pid, nullptr, 0);
    throw SpawnError(describe(failure, plan));
  }
  Process process{pid, UniqueFd(::pidfd_open(pid, 0))};
  checked(process.pidfd.get(), "pidfd_open");
  return process;
}

}  // namespace lockstep::launcher
