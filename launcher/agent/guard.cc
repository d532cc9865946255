#include "launcher/agent/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/process/job_processes.h"
#include "launcher/process/pidfd.h"
#include "launcher/process/reactor.h"
#include "launcher/process/signals.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

using Time = GuardMachine::Time;

constexpr char kBeat = 'b', kReleased = 'r';

Time steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

class Guard {
 public:
  Guard(pid_t agent, UniqueFd words, const JobProcesses& job, Time silence);
  siginfo_t run();  // how the agent ended

 private:
  void perform(const GuardMachine::Actions& actions);
  void read_words();
  void reap();

  pid_t agent_;
  UniqueFd words_;
  const JobProcesses& job_;
  GuardMachine machine_;
  Signals signals_{SIGCHLD, SIGPIPE, SIGTERM, SIGINT, SIGHUP};
  UniqueFd agent_fd_;
  Reactor reactor_;
  siginfo_t ending_{};
  bool leave_ = false;
};

Guard::Guard(pid_t agent, UniqueFd words, const JobProcesses& job, Time silence)
    : agent_(agent),
      words_(std::move(words)),
      job_(job),
      machine_(silence, steady_now()),
      agent_fd_(checked(::pidfd_open(agent, 0), "pidfd_open")) {
  set_nonblocking(words_.get());
  reactor_.watch(words_.get(), EPOLLIN, [this](std::uint32_t) { read_words(); });
  reactor_.watch(agent_fd_.get(), EPOLLIN, [this](std::uint32_t) {
    reactor_.forget(agent_fd_.get());
    read_words();  // its last, that it has released us
    perform(machine_.agent_ended(steady_now()));
  });
  reactor_.watch(signals_.fd(), EPOLLIN, [this](std::uint32_t) {
    while (const auto number = signals_.next()) {
      if (*number != SIGCHLD && *number != SIGPIPE) {
        ::pidfd_send_signal(agent_fd_.get(), *number, nullptr, 0);
      }
    }
  });
}

siginfo_t Guard::run() {
  while (!leave_) {
    std::optional<Time> timeout;
    if (const auto deadline = machine_.deadline()) {
      timeout = std::max(*deadline - steady_now(), Time::zero());
    }
    reactor_.wait(timeout);
    reap();
    perform(machine_.time_passed(steady_now()));
  }
  reap();
  return ending_;
}

void Guard::perform(const GuardMachine::Actions& actions) {
  for (const GuardMachine::Action& action : actions) {
    if (std::holds_alternative<GuardMachine::EndJob>(action)) {
      perform(machine_.swept(job_.end(), steady_now()));
    } else if (const auto* words = std::get_if<GuardMachine::Complain>(&action)) {
      fmt::print(stderr, "error: lockstep-guard (agent pid {}): {}\n", agent_, words->text);
    } else {
      leave_ = true;
    }
  }
}

void Guard::read_words() {
  std::array<char, 256> buffer;
  while (words_.valid()) {
    const ssize_t count = ::read(words_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      // Its end is told by its process, not by a descriptor that it may have lost.
      reactor_.forget(words_.get());
      words_.reset();
      return;
    }
    for (const char word : std::string_view(buffer.data(), static_cast<std::size_t>(count))) {
      perform(word == kReleased ? machine_.released() : machine_.beat(steady_now()));
    }
  }
}

// All orphans of the job are ours once the agent is gone.
void Guard::reap() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return;
    if (info.si_pid == agent_) ending_ = info;
  }
}

[[noreturn]] void end_like(const siginfo_t& ending) {
  if (ending.si_pid == 0) ::_exit(1);  // it hangs in the kernel
  if (ending.si_code == CLD_EXITED) ::_exit(ending.si_status);
  const rlimit no_core{0, 0};  // the agent's is enough
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(ending.si_status, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::kill(::getpid(), ending.si_status);
  ::_exit(128 + ending.si_status);
}

// ".../lockstep-agent" becomes ".../lockstep-guard" for ps, pkill and people.
void rename_process(char* program_name) {
  ::prctl(PR_SET_NAME, "lockstep-guard");
  constexpr std::string_view kOld = "agent", kNew = "guard";
  if (program_name == nullptr || !std::string_view(program_name).ends_with(kOld)) return;
  std::memcpy(program_name + std::strlen(program_name) - kOld.size(), kNew.data(), kNew.size());
}

// Leaves standard error; the rest belongs to the agent, or keeps an ssh session open.
void keep_only(int fd) {
  const UniqueFd nothing(checked(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
  checked(::dup2(nothing.get(), STDIN_FILENO), "dup2");
  checked(::dup2(nothing.get(), STDOUT_FILENO), "dup2");
  const auto kept = static_cast<unsigned>(fd);
  if (kept > 3) checked(::close_range(3, kept - 1, 0), "close_range");
  checked(::close_range(kept + 1, ~0U, 0), "close_range");
}

[[noreturn]] void guard(pid_t agent, UniqueFd words, std::optional<JobProcesses>& job,
                        const GuardPlan& plan) {
  siginfo_t ending{};
  try {
    keep_only(words.get());
    rename_process(plan.program_name);
    ending = Guard(agent, std::move(words), *job, plan.silence).run();
  } catch (const std::exception& error) {
    // An agent without a guard ends its job.
    fmt::print(stderr, "error: lockstep-guard: {}\n", error.what());
    ::_exit(1);
  }
  job.reset();
  end_like(ending);
}

}  // namespace

GuardLink::GuardLink(std::string job_id, UniqueFd guard, UniqueFd words, Time silence)
    : job_id_(std::move(job_id)),
      guard_(std::move(guard)),
      words_(std::move(words)),
      interval_(silence / 10) {
  set_nonblocking(words_.get());
}

void GuardLink::beat(Time now) {
  if (now < next_beat_) return;
  next_beat_ = now + interval_;
  // A full pipe is a guard that is stopped; a closed one is reported by guard().
  [[maybe_unused]] const ssize_t written = ::write(words_.get(), &kBeat, 1);
}

void GuardLink::released() const {
  [[maybe_unused]] const ssize_t written = ::write(words_.get(), &kReleased, 1);
}

GuardLink start_guard(const GuardPlan& plan) {
  const std::string job_id = random_job_id();
  const auto parent = own_cgroup();
  std::optional<JobProcesses> job;
  job.emplace(job_id, parent ? JobCgroup::make(*parent, job_id) : std::nullopt);
  Pipe words = make_pipe();
  UniqueFd self(checked(::pidfd_open(::getpid(), 0), "pidfd_open"));
  become_subreaper();
  // Blocked before there are two, so that a signal never meets one that does not take it yet.
  const Signals blocked{SIGTERM, SIGINT, SIGHUP};
  const pid_t agent = checked(::fork(), "fork");
  if (agent != 0) {
    words.write.reset();
    self.reset();
    guard(agent, std::move(words.read), job, plan);
  }
  ::setsid();
  // Where it may not enter, the group is removed again right here, by its destructor.
  if (job->cgroup()) (void)job->cgroup()->enter();
  return {job_id, std::move(self), std::move(words.write), plan.silence};
}

}  // namespace lockstep::launcher
