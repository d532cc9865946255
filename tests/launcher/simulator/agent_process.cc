#include "tests/launcher/simulator/agent_process.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace lockstep::launcher::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time kAgentSilence = seconds(10);  // what lockstep-agent has unless told otherwise

}  // namespace

AgentProcess::AgentProcess(World& world, AgentId id, std::size_t host, Pipe::Deliver to_coordinator)
    : world_(world),
      id_(id),
      host_(host),
      machine_(world.bug == PlantedBug::kAgentOutlivesItsCoordinator
                   ? std::optional<Time>(seconds(60))
                   : kAgentSilence,
               world.queue.now()),
      guard_(GuardMachine::kSilence, world.queue.now()),
      inbound_(world.queue, world.chance, world.scenario.hosts[host].delays,
               [this](std::optional<std::string> bytes) { receive(std::move(bytes)); }),
      outbound_pipe_(world.queue, world.chance, world.scenario.hosts[host].delays,
                     std::move(to_coordinator)) {
  world_.checker.agent_began(id, host);
}

std::int64_t AgentProcess::wall() const {
  return (world_.queue.now() + world_.scenario.hosts[host_].clock_offset).count();
}

void AgentProcess::begin() {
  const std::string address = fmt::format("10.{}.{}.1", host_ / 256, host_ % 256);
  outbound_.send(Ready{world_.scenario.plan.version,
                       world_.scenario.plan.hosts[host_].name,
                       static_cast<std::int64_t>(id_),
                       {{address, "eth0"}}});
  pump();
}

void AgentProcess::receive(std::optional<std::string> bytes) {
  if (!alive_) return;
  if (stopped_) {
    unread_.push_back(std::move(bytes));
    return;
  }
  take(bytes);
  pump();
}

void AgentProcess::take(const std::optional<std::string>& bytes) {
  if (!bytes) {
    lost_ = true;
    perform(machine_.coordinator_lost(world_.queue.now()));
    return;
  }
  parser_.add(*bytes);
  while (const auto body = parser_.next()) {
    const Message message = decode(*body);
    if (world_.bug == PlantedBug::kAgentIgnoresStopWhileStarting &&
        std::holds_alternative<Stop>(message) && started_at_ &&
        world_.queue.now() < *started_at_ + milliseconds(500)) {
      continue;
    }
    perform(machine_.received(message, wall(), world_.queue.now()));
  }
}

void AgentProcess::perform(const AgentMachine::Actions& actions) {
  for (const AgentMachine::Action& action : actions) {
    if (const auto* survey = std::get_if<AgentMachine::ListenForOthers>(&action)) {
      outbound_.send(Surveyed{survey->survey.generation, 77});
    } else if (const auto* reach = std::get_if<AgentMachine::TryAddresses>(&action)) {
      const Reach question = reach->reach;
      world_.queue.after(milliseconds(1), [this, question] {
        if (!runs()) return;
        outbound_.send(Reached{question.generation, question.addresses,
                               std::vector<std::string>(question.addresses.size(), "eth0")});
        pump();
      });
    } else if (const auto* store = std::get_if<AgentMachine::OpenStore>(&action)) {
      outbound_.send(Prepared{store->prepare.generation, 4'000, 5'000, {}});
    } else if (const auto* start = std::get_if<AgentMachine::StartWorkers>(&action)) {
      start_workers(start->job);
    } else if (const auto* groups = std::get_if<AgentMachine::SignalGroups>(&action)) {
      for (std::size_t p = 0; p < processes_.size(); ++p) {
        if (!processes_[p].grandchild && !processes_[p].reaped) signal(p, groups->signal);
      }
    } else if (const auto* asked = std::get_if<AgentMachine::Sweep>(&action)) {
      std::size_t living = sweep(asked->signal);
      if (world_.bug == PlantedBug::kAgentSaysGoneTooEarly) living = 0;
      perform(machine_.swept(living, world_.queue.now()));
    } else if (const auto* send = std::get_if<AgentMachine::Send>(&action)) {
      outbound_.send(send->message);
    } else if (const auto* credit = std::get_if<AgentMachine::AddCredit>(&action)) {
      outbound_.add_credit(credit->bytes);
    } else if (std::holds_alternative<AgentMachine::DiscardOutput>(action)) {
      outbound_.discard_output();
    } else if (std::holds_alternative<AgentMachine::Exit>(action)) {
      exit_ = true;
    }
  }
}

void AgentProcess::start_workers(const HostJob& job) {
  const Scenario& scenario = world_.scenario;
  started_at_ = world_.queue.now();
  processes_.clear();
  unreaped_.clear();
  // All hosts draw the attempt's fate alike: from its generation.
  Chance fate(scenario.hosts.size() * 1'000'003 + job.generation * 7'919 +
              static_cast<std::uint64_t>(scenario.plan.grace.count()));
  const Time duration = fate.between(milliseconds(100), seconds(6));
  const bool fails = fate.percent(scenario.attempts_fail);
  const auto culprit = static_cast<std::uint32_t>(fate.below(job.world));
  const Time failure = fate.between(Time(0), duration);
  for (std::uint32_t local = 0; local < job.local_world; ++local) {
    const std::uint32_t rank = job.first_rank + local;
    if (world_.chance.below(1000) < scenario.not_started_per_mille) {
      perform(machine_.worker_not_started(rank, "the program is not there"));
      continue;
    }
    const std::size_t index = processes_.size();
    processes_.push_back({.generation = job.generation, .rank = rank});
    world_.checker.process_began(id_, job.generation);
    perform(machine_.worker_started(rank, static_cast<std::int64_t>(1000 + rank)));
    std::optional<Time> fails_at;
    if (fails && rank == culprit) {
      fails_at = failure;
    } else if (fails && world_.chance.percent(scenario.chorus)) {
      fails_at = failure + world_.chance.between(milliseconds(20), milliseconds(400));
    }
    draw_fate(index, duration, fails_at);
    if (world_.chance.percent(scenario.grandchildren)) {
      processes_.push_back({.generation = job.generation,
                            .rank = rank,
                            .grandchild = true,
                            .ignores_term = world_.chance.percent(50)});
      world_.checker.process_began(id_, job.generation);
    }
  }
  if (job.host_rank == 0 && world_.chance.percent(scenario.progress)) {
    world_.queue.after(duration / 2, [this, generation = job.generation] {
      if (!runs() || machine_.gone() || lost_) return;
      outbound_.send(Progress{generation, 1});
      pump();
    });
  }
}

void AgentProcess::draw_fate(std::size_t index, Time duration, std::optional<Time> failure) {
  Process& process = processes_[index];
  Chance& chance = world_.chance;
  process.ignores_term = chance.percent(world_.scenario.ignore_term);
  process.acts_on_notice = chance.percent(world_.scenario.act_on_notice);
  if (chance.percent(20)) {
    process.code_after_term = chance.percent(50) ? kExitPreempted : 3;
  }
  print(process);
  if (failure) {
    Ending ending;
    if (chance.percent(30)) {
      ending.signal = SIGSEGV;
    } else {
      ending.code = 1 + static_cast<int>(chance.below(60));
    }
    end_later(index, *failure, ending, Doing::kIts);
  } else if (!chance.percent(world_.scenario.hang)) {
    end_later(index, duration + chance.between(Time(0), milliseconds(300)), {}, Doing::kIts);
  }
}

void AgentProcess::print(Process& process) {
  outbound_.add_output(
      {process.rank, Stream::kOut,
       fmt::format("{} {} {}\n", process.generation, process.rank, ++process.lines)});
}

void AgentProcess::end_later(std::size_t index, Time delay, Ending ending, Doing doing) {
  const std::uint32_t generation = processes_[index].generation;
  world_.queue.after(delay, [this, index, generation, ending, doing] {
    if (index >= processes_.size() || processes_[index].generation != generation) return;
    end(index, ending, doing);
  });
}

void AgentProcess::end(std::size_t index, Ending ending, Doing doing) {
  Process& process = processes_[index];
  if (!process.alive || down_) return;
  if (process.stopped && ending.signal != SIGKILL) {
    process.waits.emplace(ending, doing);
    return;
  }
  process.alive = false;
  world_.checker.process_ended(id_, process.generation);
  if (process.grandchild) return;
  world_.log([&] {
    return fmt::format("host {}: rank {} of generation {} ends, code {}, signal {}", host_,
                       process.rank, process.generation, ending.code, ending.signal);
  });
  world_.checker.worker_ended({.agent = id_,
                               .generation = process.generation,
                               .rank = process.rank,
                               .at = world_.queue.now(),
                               .code = ending.code,
                               .signal = ending.signal,
                               .by_itself = doing == Doing::kIts});
  process.waits.emplace(ending, doing);  // for waitid()
  unreaped_.push_back(index);
  if (!runs()) return;
  if (!lost_) print(process);
  reap();
  pump();
}

void AgentProcess::reap() {
  while (!unreaped_.empty()) {
    Process& process = processes_[unreaped_.front()];
    unreaped_.pop_front();
    process.reaped = true;
    perform(machine_.worker_ended(process.rank, process.waits->first, wall(), world_.queue.now()));
  }
}

void AgentProcess::signal(std::size_t index, int number) {
  Process& process = processes_[index];
  if (!process.alive) return;
  Chance& chance = world_.chance;
  if (number == SIGKILL) {
    end_later(index, chance.between(milliseconds(1), milliseconds(20)), {0, SIGKILL}, Doing::kOurs);
  } else if (number == SIGSTOP) {
    process.stopped = true;
  } else if (number == SIGCONT) {
    process.stopped = false;
    if (const auto waiting = std::exchange(process.waits, std::nullopt)) {
      end_later(index, milliseconds(1), waiting->first, waiting->second);
    }
  } else if (number == SIGTERM && !process.ignores_term) {
    const Ending ending =
        process.code_after_term == 0 ? Ending{0, SIGTERM} : Ending{process.code_after_term, 0};
    end_later(index, chance.between(milliseconds(1), milliseconds(300)), ending, Doing::kOurs);
  } else if (number == SIGUSR1 && process.acts_on_notice) {
    end_later(index, chance.between(milliseconds(50), milliseconds(400)), {kExitPreempted, 0},
              Doing::kOurs);
  }
}

std::size_t AgentProcess::sweep(int number) {
  std::size_t living = 0;
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    if (!processes_[p].alive) continue;
    ++living;
    if (number != 0) signal(p, number);
  }
  return living;
}

// What the end of Agent::run()'s loop does.
void AgentProcess::pump() {
  if (!runs()) return;
  perform(machine_.time_passed(world_.queue.now()));
  if (machine_.gone() && !outbound_.has_output()) perform(machine_.output_drained());
  while (!lost_) {
    const std::string_view bytes = outbound_.next();
    if (bytes.empty()) break;
    outbound_.wrote(bytes.size());
    outbound_pipe_.send(std::string(bytes));
  }
  // As the loop comes round once more after what was written.
  if (machine_.gone() && !outbound_.has_output()) {
    perform(machine_.output_drained());
    const std::string_view bytes = lost_ ? std::string_view() : outbound_.next();
    if (!bytes.empty()) {
      outbound_.wrote(bytes.size());
      outbound_pipe_.send(std::string(bytes));
    }
  }
  if (exit_) {
    alive_ = false;
    perform(guard_.released());
    if (guard_alive_) perform(guard_.agent_ended(world_.queue.now()));
    return;
  }
  if (const auto deadline = machine_.deadline()) wake_at(*deadline);
}

void AgentProcess::wake_at(Time when) {
  if (wake_ && *wake_ <= when) return;
  wake_ = when;
  world_.queue.at(when, [this, when] {
    if (wake_ != when) return;
    wake_.reset();
    pump();
  });
}

void AgentProcess::perform(const GuardMachine::Actions& actions) {
  for (const GuardMachine::Action& action : actions) {
    if (std::holds_alternative<GuardMachine::EndJob>(action)) {
      const std::size_t living = sweep(SIGKILL);
      if (alive_) {
        alive_ = false;
        perform(guard_.agent_ended(world_.queue.now()));
      }
      perform(guard_.swept(living, world_.queue.now()));
    } else if (std::holds_alternative<GuardMachine::Leave>(action)) {
      guard_alive_ = false;
      outbound_pipe_.close();
    }
  }
}

void AgentProcess::look_after_agent() {
  if (const auto deadline = guard_.deadline()) {
    world_.queue.at(*deadline, [this] {
      if (!guard_alive_ || down_ || runs()) return;
      perform(guard_.time_passed(world_.queue.now()));
      look_after_agent();
    });
  }
}

void AgentProcess::crash() {
  if (!alive_) return;
  alive_ = false;
  if (!guard_alive_) return;
  perform(guard_.agent_ended(world_.queue.now()));
  look_after_agent();
}

void AgentProcess::guard_crash() {
  if (!guard_alive_) return;
  guard_alive_ = false;
  outbound_pipe_.close();  // its carrier saw the process end that it had started
  if (!runs()) return;
  lost_ = true;
  perform(machine_.coordinator_lost(world_.queue.now()));
  pump();
}

void AgentProcess::stop() {
  if (!runs()) return;
  stopped_ = true;
  perform(guard_.beat(world_.queue.now()));
  look_after_agent();
}

void AgentProcess::go_on() {
  if (!alive_ || !stopped_) return;
  stopped_ = false;
  perform(guard_.beat(world_.queue.now()));
  while (!unread_.empty()) {
    take(unread_.front());
    unread_.pop_front();
  }
  reap();
  pump();
}

void AgentProcess::host_crash() {
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    if (!processes_[p].alive) continue;
    processes_[p].alive = false;
    world_.checker.process_ended(id_, processes_[p].generation);
  }
  alive_ = guard_alive_ = false;
  down_ = true;
  outbound_pipe_.cut();
}

void AgentProcess::reset_connection() {
  inbound_.reset();
  outbound_pipe_.reset();
}

}  // namespace lockstep::launcher::simulator
