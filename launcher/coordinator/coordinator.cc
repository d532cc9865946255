#include "launcher/coordinator/coordinator.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <utility>

#include "launcher/coordinator/output_queue.h"
#include "launcher/process/descendants.h"
#include "launcher/process/reactor.h"
#include "launcher/process/spawn.h"
#include "launcher/process/system_call.h"
#include "launcher/protocol/frame.h"

namespace lockstep::launcher {
namespace {

using Time = CoordinatorMachine::Time;

Time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

struct AgentLink {
  Process process;
  UniqueFd to_agent, from_agent;
  FrameParser parser;
  std::string unsent;
};

class Coordinator {
 public:
  Coordinator(const Launch& launch, const Signals& signals);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  Outcome run();

 private:
  void start_agent(std::size_t host);
  void perform(CoordinatorMachine::Actions actions);
  void send(std::size_t host, const Message& message);
  void write_to(std::size_t host);
  bool read_from(std::size_t host);  // false at the end of the stream
  void agent_ended(std::size_t host);
  void sweep();
  void flush_output();
  void say(const std::string& lines);
  void take_signal(int number);
  void finish();

  const Launch& launch_;
  const Signals& signals_;
  Descendants descendants_;
  CoordinatorMachine machine_;
  Screen screen_;
  OutputQueue output_;
  Reactor reactor_;
  std::vector<AgentLink> agents_;
  int watched_output_ = -1;
  bool finished_ = false;
  std::optional<Time> give_up_at_;  // writing what nobody reads
};

Coordinator::Coordinator(const Launch& launch, const Signals& signals)
    : launch_(launch), signals_(signals), machine_(launch.plan), screen_(launch.lead) {
  reactor_.watch(signals_.fd(), EPOLLIN, [this](std::uint32_t) {
    while (const auto number = signals_.next()) take_signal(*number);
  });
  agents_.resize(launch_.plan.workers_per_host.size());
  for (std::size_t host = 0; host < agents_.size(); ++host) start_agent(host);
}

// Also the way out of an exception: nothing of the job may outlive it.
Coordinator::~Coordinator() {
  for (AgentLink& agent : agents_) agent.to_agent.reset();
  try {
    sweep();
  } catch (const std::exception&) {
    // Without /proc there is no tree to walk; the agents end theirs when their channel closes.
    return;
  }
}

void Coordinator::start_agent(std::size_t host) {
  Pipe to = make_pipe(), from = make_pipe();
  ProcessPlan plan;
  plan.file = launch_.agent;
  plan.args = {"lockstep-agent"};
  plan.environment = launch_.plan.job.environment;
  plan.in = to.read.get();
  plan.out = from.write.get();
  plan.parting = Parting::kOutlivesParent;  // it has to clean up after us
  AgentLink& agent = agents_[host];
  agent.process = spawn(plan);
  agent.to_agent = std::move(to.write);
  agent.from_agent = std::move(from.read);
  set_nonblocking(agent.to_agent.get());
  set_nonblocking(agent.from_agent.get());
  reactor_.watch(agent.from_agent.get(), EPOLLIN, [this, host](std::uint32_t) {
    if (!read_from(host)) reactor_.forget(agents_[host].from_agent.get());
  });
  reactor_.watch(agent.process.pidfd.get(), EPOLLIN,
                 [this, host](std::uint32_t) { agent_ended(host); });
}

Outcome Coordinator::run() {
  while (true) {
    flush_output();
    if (finished_ && (output_.empty() || (give_up_at_ && now() >= *give_up_at_))) break;
    std::optional<Time> next = machine_.deadline();
    if (give_up_at_) next = std::min(next.value_or(Time::max()), *give_up_at_);
    if (next) next = std::max(*next - now(), Time::zero());
    reactor_.wait(next);
    perform(machine_.time_passed(now()));
  }
  return machine_.outcome();
}

void Coordinator::finish() {
  finished_ = true;
  const Outcome outcome = machine_.outcome();
  if (outcome.culprit) say(failure_report(outcome, launch_.plan.job.run_folder));
  if (outcome.status == Status::kInterrupted) {
    give_up_at_ = now() + CoordinatorMachine::kLastOutput;
  }
}

void Coordinator::perform(CoordinatorMachine::Actions actions) {
  for (CoordinatorMachine::Action& action : actions) {
    if (auto* show = std::get_if<CoordinatorMachine::Show>(&action)) {
      const int fd = show->output.stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO;
      const auto size = static_cast<std::int64_t>(show->output.bytes.size());
      output_.add(fd, screen_.show(show->output), OutputQueue::Debt{show->host, size});
    } else if (auto* to = std::get_if<CoordinatorMachine::SendTo>(&action)) {
      send(to->host, to->message);
    } else if (auto* words = std::get_if<CoordinatorMachine::Say>(&action)) {
      if (words->level == CoordinatorMachine::Level::kAlways ||
          launch_.verbosity == Verbosity::kVerbose) {
        say(fmt::format("lockstep: {}\n", words->text));
      }
    } else if (auto* end = std::get_if<CoordinatorMachine::EndAgent>(&action)) {
      if (agents_[end->host].process.pidfd.valid()) {
        ::kill(agents_[end->host].process.pid, SIGKILL);
      }
    } else if (std::holds_alternative<CoordinatorMachine::Sweep>(action)) {
      sweep();
    } else {
      finish();
    }
  }
}

void Coordinator::say(const std::string& lines) {
  output_.add(STDERR_FILENO, screen_.say(lines));
}

void Coordinator::take_signal(int number) {
  if (number == SIGCHLD || number == SIGPIPE) return;
  const std::string by = number == SIGINT ? "interrupted" : "got " + signal_name(number);
  perform(machine_.interrupted(by, now()));
  if (finished_) give_up_at_ = now();
}

void Coordinator::send(std::size_t host, const Message& message) {
  agents_[host].unsent += frame(encode(message));
  write_to(host);
}

void Coordinator::write_to(std::size_t host) {
  AgentLink& agent = agents_[host];
  const int fd = agent.to_agent.get();
  while (agent.to_agent.valid() && !agent.unsent.empty()) {
    const ssize_t count = ::write(fd, agent.unsent.data(), agent.unsent.size());
    if (count > 0) {
      agent.unsent.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!reactor_.watches(fd)) {
        reactor_.watch(fd, EPOLLOUT, [this, host](std::uint32_t) { write_to(host); });
      }
      return;
    } else if (errno != EINTR) {
      agent.unsent.clear();  // its end is reported by its pidfd
    }
  }
  reactor_.forget(fd);
}

bool Coordinator::read_from(std::size_t host) {
  AgentLink& agent = agents_[host];
  std::array<char, std::size_t{64} << 10> buffer;
  const ssize_t count = ::read(agent.from_agent.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) return false;
  try {
    agent.parser.add({buffer.data(), static_cast<std::size_t>(count)});
    while (const auto body = agent.parser.next()) {
      perform(machine_.received(host, decode(*body), now()));
    }
  } catch (const ProtocolError& error) {
    say(fmt::format("error: the agent on host {} sent what is no message: {}\n", host,
                    error.what()));
    ::kill(agent.process.pid, SIGKILL);
    return false;
  }
  return true;
}

void Coordinator::agent_ended(std::size_t host) {
  AgentLink& agent = agents_[host];
  // Its last words may still lie in the pipe. Nobody writes any more, so there is an end.
  if (reactor_.watches(agent.from_agent.get())) {
    while (read_from(host)) {
    }
    reactor_.forget(agent.from_agent.get());
  }
  reactor_.forget(agent.process.pidfd.get());
  reactor_.forget(agent.to_agent.get());
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(agent.process.pid), &info, WEXITED);
  agent.process.pidfd.reset();
  agent.to_agent.reset();
  if (info.si_code == CLD_EXITED) {
    perform(machine_.agent_lost(
        host, 1, fmt::format("ended before its workers, with code {}", info.si_status), now()));
  } else {
    perform(machine_.agent_lost(host, 128 + info.si_status,
                                "was ended by " + signal_name(info.si_status), now()));
  }
}

// Blocks, for at most kLimit: there is nothing else left to do for what is swept.
void Coordinator::sweep() {
  constexpr Time kLimit = std::chrono::seconds(4);
  constexpr int kPauseMs = 5;
  const Time give_up = now() + kLimit;
  while (descendants_.signal_all(SIGKILL) > 0 && now() < give_up) ::poll(nullptr, 0, kPauseMs);
}

void Coordinator::flush_output() {
  std::map<std::size_t, std::int64_t> owed;
  for (const OutputQueue::Debt& debt : output_.flush()) owed[debt.host] += debt.bytes;
  for (const auto& [host, bytes] : owed) send(host, Credit{bytes});
  const int blocked = output_.empty() ? -1 : output_.blocked_on();
  if (blocked == watched_output_) return;
  if (watched_output_ >= 0) reactor_.forget(watched_output_);
  if (blocked >= 0) reactor_.watch(blocked, EPOLLOUT, [](std::uint32_t) {});
  watched_output_ = blocked;
}

}  // namespace

Outcome run_coordinator(const Launch& launch, const Signals& signals) {
  become_subreaper();
  return Coordinator(launch, signals).run();
}

}  // namespace lockstep::launcher
