#include "tests/launcher/simulator/history.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/launcher/simulator/launcher_process.h"

namespace lockstep::launcher::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// More than any history has: one that comes here goes round in circles.
constexpr std::uint64_t kMostEvents = 2'000'000;

class History {
 public:
  History(std::uint64_t seed, PlantedBug bug, Printed printed);
  HistoryEnd run();

 private:
  using Kind = Fault::Kind;

  AgentProcess* make_agent(std::size_t host, Pipe::Deliver to_launcher);
  void strike(const Fault& fault);
  void strike_agent(const Fault& fault, AgentProcess& agent);
  void undo(const Fault& fault, AgentProcess* agent);
  void expect_silence_noticed(const Fault& fault, AgentProcess& agent);
  void lose_patience();
  void user_interrupts();
  void log(const std::function<std::string()>& line) const;

  Printed printed_;
  EventQueue queue_;
  Chance chance_;
  Scenario scenario_;
  Checker checker_;
  World world_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
  std::vector<bool> unreachable_;  // by host, now
  LauncherProcess launcher_;
};

History::History(std::uint64_t seed, PlantedBug bug, Printed printed)
    : printed_(printed),
      chance_(seed),
      scenario_(draw_scenario(chance_)),
      checker_(scenario_, queue_),
      world_{queue_,    chance_, checker_,
             scenario_, bug,     [this](const std::function<std::string()>& line) { log(line); }},
      unreachable_(scenario_.hosts.size()),
      launcher_(world_,
                [this](std::size_t host, Pipe::Deliver deliver) {
                  return make_agent(host, std::move(deliver));
                },
                {}) {}

void History::log(const std::function<std::string()>& line) const {
  if (printed_ == Printed::kNo) return;
  fmt::print("{:10.6f}  {}\n", std::chrono::duration<double>(queue_.now()).count(), line());
}

AgentProcess* History::make_agent(std::size_t host, Pipe::Deliver to_launcher) {
  if (unreachable_[host]) return nullptr;
  agents_.push_back(
      std::make_unique<AgentProcess>(world_, agents_.size(), host, std::move(to_launcher)));
  return agents_.back().get();
}

HistoryEnd History::run() {
  log([this] {
    return fmt::format("{} hosts, {} to {}, max restarts {}, grace {} ms", scenario_.hosts.size(),
                       scenario_.plan.needed(), scenario_.plan.wanted(),
                       scenario_.plan.max_restarts, scenario_.plan.grace.count());
  });
  launcher_.begin();
  for (const Fault& fault : scenario_.faults) queue_.at(fault.at, [&] { strike(fault); });
  queue_.at(kPatience, [this] { lose_patience(); });
  HistoryEnd end;
  // What follows the launcher's end is over by then.
  std::optional<Time> last;
  while (queue_.next() && checker_.broken().empty()) {
    if (!last && (launcher_.over() || launcher_.dead())) last = queue_.now() + seconds(13);
    if (last && *queue_.next() > *last) break;
    queue_.step();
    checker_.check();
    ++end.events;
    checker_.expect(end.events < kMostEvents,
                    [] { return std::string("the history does not end"); });
  }
  checker_.expect(launcher_.over() || launcher_.dead(),
                  [] { return std::string("nothing is left to happen, and the job is not over"); });
  end.broken = checker_.broken();
  end.code = launcher_.finished() ? launcher_.outcome().code : -1;
  end.generations = launcher_.generation().value_or(0) + 1;
  log([&] {
    return end.broken.empty() ? std::string("all promises kept") : "BROKEN: " + end.broken;
  });
  return end;
}

void History::strike(const Fault& fault) {
  if (launcher_.over() || launcher_.dead()) return;
  log([&] { return "fault: " + describe(fault); });
  switch (fault.kind) {
    case Kind::kInterruptTwice:
      queue_.after(fault.lasts / 50, [this] { user_interrupts(); });
      [[fallthrough]];
    case Kind::kInterrupt:
      user_interrupts();
      return;
    case Kind::kPreempt:
      launcher_.preempt();
      return;
    case Kind::kNotice:
      launcher_.notice();
      return;
    case Kind::kPause:
      launcher_.pause();
      queue_.after(fault.lasts, [this] { launcher_.go_on(); });
      return;
    case Kind::kLauncherCrash:
      launcher_.crash();
      return;
    case Kind::kHostCrash:
    case Kind::kHostCrashAndReturn:
    case Kind::kPartition:
    case Kind::kPartitionMended:
      unreachable_[fault.host] = true;
      break;
    default:
      break;
  }
  AgentProcess* agent = launcher_.agent(fault.host);
  if (agent != nullptr) strike_agent(fault, *agent);
  queue_.after(fault.lasts, [this, fault, agent] { undo(fault, agent); });
}

void History::strike_agent(const Fault& fault, AgentProcess& agent) {
  checker_.befell(agent.id());
  switch (fault.kind) {
    case Kind::kHostCrash:
    case Kind::kHostCrashAndReturn:
      agent.host_crash();
      break;
    case Kind::kAgentCrash:
      agent.crash();
      return;
    case Kind::kGuardCrash:
      agent.guard_crash();
      return;
    case Kind::kAgentStop:
    case Kind::kAgentStopAndContinue:
      agent.stop();
      break;
    case Kind::kPartition:
    case Kind::kPartitionMended:
      agent.inbound().cut();
      agent.outward().cut();
      break;
    case Kind::kReset:
      agent.reset_connection();
      return;
    default:
      return;
  }
  expect_silence_noticed(fault, agent);
}

void History::undo(const Fault& fault, AgentProcess* agent) {
  if (fault.kind == Kind::kHostCrashAndReturn) {
    unreachable_[fault.host] = false;
    if (agent != nullptr) agent->reset_connection();
  } else if (fault.kind == Kind::kPartitionMended) {
    unreachable_[fault.host] = false;
    if (agent == nullptr) return;
    agent->inbound().mend();
    agent->outward().mend();
  } else if (fault.kind == Kind::kAgentStopAndContinue && agent != nullptr) {
    agent->go_on();
  }
}

void History::expect_silence_noticed(const Fault& fault, AgentProcess& agent) {
  const bool undone = fault.kind == Kind::kHostCrashAndReturn ||
                      fault.kind == Kind::kPartitionMended ||
                      fault.kind == Kind::kAgentStopAndContinue;
  // While its user has stopped the launcher, it notices nothing.
  if ((undone && fault.lasts < seconds(11)) || scenario_.has(Kind::kPause)) return;
  const std::optional<std::uint32_t> generation = launcher_.generation();
  const bool takes_part = generation && checker_.living(agent.id()) > 0;
  queue_.after(seconds(10), [this, &agent] {
    checker_.expect(launcher_.agent(agent.host()) != &agent, [&] {
      return fmt::format("host {} is silent for 10 s and not declared lost", agent.host());
    });
  });
  if (!takes_part || scenario_.has(Kind::kPreempt)) return;
  queue_.after(seconds(15) + scenario_.plan.grace, [this, generation] {
    checker_.expect(checker_.living_attached(*generation) == 0, [] {
      return std::string("15 s and the grace after a host fell silent the others still work");
    });
  });
}

void History::user_interrupts() {
  launcher_.interrupt();
  if (!scenario_.calm() || launcher_.finished()) return;
  queue_.after(seconds(2), [this] {
    checker_.expect(launcher_.finished(), [] {
      return std::string("2 s after an interrupt the job goes on, though all agents answer");
    });
  });
}

// Where nothing moves any more though no worker works, nobody would ever end the job.
void History::lose_patience() {
  if (launcher_.over() || launcher_.dead()) return;
  const bool idle =
      !launcher_.generation() || checker_.living_attached(*launcher_.generation()) == 0;
  checker_.expect(!idle || queue_.now() - launcher_.last_action() < seconds(75),
                  [] { return std::string("no worker works, and the job is not over"); });
  user_interrupts();
  queue_.after(seconds(3), [this] {
    checker_.expect(launcher_.finished(),
                    [] { return std::string("3 s after an interrupt the job is not over"); });
  });
}

}  // namespace

HistoryEnd run_history(std::uint64_t seed, PlantedBug bug, Printed printed) {
  return History(seed, bug, printed).run();
}

}  // namespace lockstep::launcher::simulator
