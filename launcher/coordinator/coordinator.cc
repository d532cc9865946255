#include "launcher/coordinator/coordinator.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "launcher/coordinator/job_control.h"
#include "launcher/coordinator/output_queue.h"
#include "launcher/process/descendants.h"
#include "launcher/process/reactor.h"
#include "launcher/remote/dial_plan.h"
#include "launcher/remote/ssh_failure.h"

namespace lockstep::launcher {
namespace {

using Time = CoordinatorMachine::Time;

// How long agents that were dismissed may take to go.
constexpr std::chrono::milliseconds kFarewell{1'000};

Time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

class Coordinator {
 public:
  Coordinator(const Launch& launch, const Signals& signals);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  Outcome run();

 private:
  void start_agent(std::size_t host);
  void call_hosts();
  void agent_spoke(std::size_t host, Message message);
  void agent_ended(std::size_t host, const LinkEnd& end);
  void perform(CoordinatorMachine::Actions actions);
  void sweep();
  void flush_output();
  void say(const std::string& lines);
  void take_signal(int number);
  void control(const JobControl::Actions& actions);
  void finish();
  void drop_link(std::size_t host);
  [[nodiscard]] bool remote(std::size_t host) const { return !launch_.agents[host].nonce.empty(); }
  [[nodiscard]] bool over() const;

  const Launch& launch_;
  const Signals& signals_;
  Descendants descendants_;
  CoordinatorMachine machine_;
  JobControl job_control_;
  DialPlan dial_plan_;
  Screen screen_;
  OutputQueue output_;
  Reactor reactor_;
  std::vector<std::unique_ptr<AgentLink>> links_;
  std::vector<std::unique_ptr<AgentLink>> dropped_;  // one of them may be calling us
  int watched_output_ = -1;
  bool finished_ = false;
  std::optional<Time> give_up_at_;      // writing what nobody reads
  std::optional<Time> farewell_until_;  // waiting for agents that were dismissed
};

Coordinator::Coordinator(const Launch& launch, const Signals& signals)
    : launch_(launch),
      signals_(signals),
      machine_(launch.plan),
      dial_plan_(launch.agents.size(), launch.plan.connect, std::random_device{}()),
      screen_(launch.lead),
      links_(launch.agents.size()) {
  reactor_.watch(signals_.fd(), EPOLLIN, [this](std::uint32_t) {
    while (const auto number = signals_.next()) take_signal(*number);
  });
}

// Also the way out of an exception: nothing of the job may outlive it.
Coordinator::~Coordinator() {
  links_.clear();
  dropped_.clear();
  try {
    sweep();
  } catch (const std::exception&) {
    // Without /proc there is no tree to walk; the agents end theirs when their channel closes.
    return;
  }
}

Outcome Coordinator::run() {
  perform(machine_.begin(now()));
  while (true) {
    call_hosts();
    flush_output();
    dropped_.clear();
    const bool told = std::ranges::none_of(
        links_, [](const auto& link) { return link != nullptr && link->has_unsent(); });
    control(told ? job_control_.told() : job_control_.time_passed(now()));
    if (over()) break;
    std::optional<Time> next = machine_.deadline();
    for (const std::optional<Time>& other :
         {give_up_at_, farewell_until_, dial_plan_.next(), job_control_.deadline()}) {
      if (other) next = std::min(next.value_or(Time::max()), *other);
    }
    if (next) next = std::max(*next - now(), Time::zero());
    reactor_.wait(next);
    perform(machine_.time_passed(now()));
  }
  return machine_.outcome();
}

bool Coordinator::over() const {
  if (!finished_) return false;
  if (!output_.empty() && !(give_up_at_ && now() >= *give_up_at_)) return false;
  const bool alone = std::ranges::none_of(links_, [](const auto& link) { return link != nullptr; });
  return alone || now() >= *farewell_until_;
}

void Coordinator::finish() {
  finished_ = true;
  farewell_until_ = now() + kFarewell;
  const Outcome& outcome = machine_.outcome();
  if (outcome.status == Status::kFailed) {
    say(failure_report(outcome, launch_.plan.job.run_folder));
  } else if (outcome.status == Status::kInterrupted) {
    give_up_at_ = now() + CoordinatorMachine::kLastOutput;
  }
}

void Coordinator::start_agent(std::size_t host) {
  AgentLink::Handlers handlers;
  handlers.message = [this, host](Message message) { agent_spoke(host, std::move(message)); };
  handlers.end = [this, host](const LinkEnd& end) { agent_ended(host, end); };
  try {
    links_[host] = std::make_unique<AgentLink>(reactor_, launch_.agents[host], std::move(handlers));
  } catch (const std::exception& error) {
    dial_plan_.failed(host);
    perform(machine_.not_reached(host, error.what(), now()));
  }
}

void Coordinator::drop_link(std::size_t host) {
  if (!links_[host]) return;
  links_[host]->abandon();
  dropped_.push_back(std::move(links_[host]));
}

void Coordinator::call_hosts() {
  if (finished_) return;
  for (const std::size_t host : dial_plan_.overdue(now())) {
    drop_link(host);
    dial_plan_.failed(host);
    perform(machine_.not_reached(
        host,
        fmt::format("could not be reached within {:.0f} s",
                    std::chrono::duration<double>(launch_.plan.connect).count()),
        now()));
  }
  for (const std::size_t host : dial_plan_.due(now())) start_agent(host);
}

void Coordinator::agent_spoke(std::size_t host, Message message) {
  if (std::holds_alternative<Ready>(message)) {
    dial_plan_.answered(host);
    if (launch_.verbosity == Verbosity::kVerbose && !links_[host]->noise().empty()) {
      say(fmt::format("lockstep: the login on {} printed:\n{}\n", launch_.plan.hosts[host].name,
                      links_[host]->noise()));
    }
  }
  perform(machine_.received(host, std::move(message), now()));
}

void Coordinator::agent_ended(std::size_t host, const LinkEnd& end) {
  drop_link(host);
  if (!remote(host)) sweep();
  if (!end.nonsense.empty()) {
    dial_plan_.failed(host);
    const std::string why = "has an agent that sent what is no message: " + end.nonsense;
    perform(machine_.agent_lost(host, 1, why, now()));
    return;
  }
  std::string why;
  if (remote(host)) {
    const SshFailure failure =
        ssh_failure({end.code, end.signal, end.reached, end.said}, launch_.ssh, "lockstep-agent");
    if (failure.passes && dial_plan_.turned_away(host, now())) return;
    why = failure.why;
  } else if (end.signal == 0) {
    why = fmt::format("lost its agent, which ended with code {}", end.code);
  } else {
    why = fmt::format("lost its agent, which was ended by {}", signal_name(end.signal));
  }
  dial_plan_.failed(host);
  perform(machine_.agent_lost(host, end.signal != 0 ? 128 + end.signal : 1, why, now()));
}

void Coordinator::perform(CoordinatorMachine::Actions actions) {
  for (CoordinatorMachine::Action& action : actions) {
    if (auto* show = std::get_if<CoordinatorMachine::Show>(&action)) {
      const int fd = show->output.stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO;
      const auto size = static_cast<std::int64_t>(show->output.bytes.size());
      const bool shown =
          launch_.shown_ranks.empty() || launch_.shown_ranks.contains(show->output.rank);
      const std::string name =
          launch_.plan.hosts.size() > 1 ? launch_.plan.hosts[show->host].name : std::string();
      output_.add(fd, shown ? screen_.show(show->output, name) : std::string(),
                  OutputQueue::Debt{show->host, size});
    } else if (auto* to = std::get_if<CoordinatorMachine::SendTo>(&action)) {
      if (links_[to->host]) links_[to->host]->send(to->message);
    } else if (auto* words = std::get_if<CoordinatorMachine::Say>(&action)) {
      if (words->level == CoordinatorMachine::Level::kAlways ||
          launch_.verbosity == Verbosity::kVerbose) {
        say(fmt::format("lockstep: {}\n", words->text));
      }
    } else if (auto* connect = std::get_if<CoordinatorMachine::Connect>(&action)) {
      dial_plan_.want(connect->host, connect->at);
    } else if (auto* end = std::get_if<CoordinatorMachine::EndAgent>(&action)) {
      drop_link(end->host);
      dial_plan_.failed(end->host);
      if (!remote(end->host)) sweep();
    } else {
      finish();
    }
  }
}

void Coordinator::say(const std::string& lines) {
  output_.add(STDERR_FILENO, screen_.say(lines));
}

void Coordinator::take_signal(int number) {
  switch (number) {
    case SIGUSR1:
    case SIGUSR2:
      perform(machine_.noticed(number, now()));
      return;
    case SIGTSTP:
    case SIGCONT:
      control(job_control_.signalled(number, now()));
      return;
    case SIGTERM:
      if (launch_.preemption_grace) {
        perform(machine_.preempted("got SIGTERM", *launch_.preemption_grace, now()));
        return;
      }
      break;
    case SIGINT:
    case SIGHUP:
      break;
    default:
      return;
  }
  const std::string by = number == SIGINT ? "interrupted" : "got " + signal_name(number);
  perform(machine_.interrupted(by, now()));
  if (finished_) give_up_at_ = now();
}

void Coordinator::control(const JobControl::Actions& actions) {
  for (const JobControl::Action& action : actions) {
    if (const auto* workers = std::get_if<JobControl::SignalWorkers>(&action)) {
      perform(workers->signal == SIGTSTP ? machine_.pausing() : machine_.resumed(now()));
    } else {
      ::raise(SIGSTOP);
    }
  }
}

// Blocks, for at most kLimit: there is nothing else left to do for what is swept. What carries
// agents of other hosts stays.
void Coordinator::sweep() {
  constexpr Time kLimit = std::chrono::seconds(4);
  constexpr int kPauseMs = 5;
  std::set<pid_t> spared;
  for (const auto& link : links_) {
    if (link) spared.insert(link->pid());
  }
  const Time give_up = now() + kLimit;
  while (descendants_.signal_all(SIGKILL, spared) > 0 && now() < give_up) {
    ::poll(nullptr, 0, kPauseMs);
  }
}

void Coordinator::flush_output() {
  std::map<std::size_t, std::int64_t> owed;
  for (const OutputQueue::Debt& debt : output_.flush()) owed[debt.host] += debt.bytes;
  for (const auto& [host, bytes] : owed) {
    if (links_[host]) links_[host]->send(Credit{bytes});
  }
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
