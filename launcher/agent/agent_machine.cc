#include "launcher/agent/agent_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace lockstep::launcher {

AgentMachine::Actions AgentMachine::received(const Message& message, Time now) {
  if (const auto* start = std::get_if<Start>(&message)) {
    if (phase_ != Phase::kWaiting) return {};
    phase_ = Phase::kRunning;
    living_workers_ = start->job.local_world;
    return {StartWorkers{start->job}};
  }
  if (const auto* credit = std::get_if<Credit>(&message)) return {AddCredit{credit->bytes}};
  if (const auto* stop = std::get_if<Stop>(&message)) {
    return begin_stop(std::chrono::milliseconds(std::max(stop->grace_ms, std::int64_t{0})), now);
  }
  if (std::holds_alternative<Kill>(message)) return begin_kill(now);
  return {};
}

AgentMachine::Actions AgentMachine::coordinator_lost(Time now) {
  if (alone_) return {};
  alone_ = true;
  Actions actions{DiscardOutput{}};
  if (phase_ == Phase::kGone) {
    actions.emplace_back(Exit{});
    return actions;
  }
  for (Action& action : begin_kill(now)) actions.emplace_back(std::move(action));
  return actions;
}

AgentMachine::Actions AgentMachine::worker_started(std::uint32_t rank, std::int64_t pid) {
  return {Send{Started{rank, pid}}};
}

AgentMachine::Actions AgentMachine::worker_not_started(std::uint32_t rank, const std::string& why) {
  --living_workers_;
  return {Send{NotStarted{rank, why}}};
}

AgentMachine::Actions AgentMachine::worker_ended(std::uint32_t rank, Ending ending,
                                                 std::int64_t wall_ns, Time now) {
  --living_workers_;
  Actions actions{Send{Ended{rank, wall_ns, ending.code, ending.signal, ending.killer}}};
  if (living_workers_ == 0) leave(actions, now);
  return actions;
}

void AgentMachine::leave(Actions& actions, Time now) {
  if (phase_ == Phase::kKilling) {
    actions.emplace_back(Sweep{SIGKILL});
    return;
  }
  if (phase_ == Phase::kRunning) kill_at_ = now + kLeftoverGrace;
  phase_ = Phase::kLeaving;
  actions.emplace_back(Sweep{SIGTERM});
}

AgentMachine::Actions AgentMachine::begin_stop(Time grace, Time now) {
  if (phase_ == Phase::kKilling || phase_ == Phase::kGone) return {};
  kill_at_ = std::min(kill_at_.value_or(Time::max()), now + grace);
  if (phase_ == Phase::kStopping || phase_ == Phase::kLeaving) return {};
  Actions actions{SignalGroups{SIGTERM}};
  phase_ = Phase::kStopping;
  if (living_workers_ == 0) leave(actions, now);
  return actions;
}

AgentMachine::Actions AgentMachine::begin_kill(Time now) {
  if (phase_ == Phase::kKilling || phase_ == Phase::kGone) return {};
  phase_ = Phase::kKilling;
  kill_at_.reset();
  give_up_at_ = now + kKillingLimit;
  return {SignalGroups{SIGKILL}, Sweep{SIGKILL}};
}

AgentMachine::Actions AgentMachine::swept(std::size_t living, Time now) {
  Actions actions;
  if (phase_ == Phase::kGone || phase_ == Phase::kWaiting) return actions;
  const bool hopeless = phase_ == Phase::kKilling && now >= give_up_at_;
  if (hopeless && living > 0) {
    actions.emplace_back(Send{Note{fmt::format(
        "{} processes of the job do not end although they were killed: they hang in the kernel, "
        "on a lost file system or device perhaps",
        living)}});
  }
  if ((living == 0 && living_workers_ == 0) || hopeless) {
    finish(actions);
  } else {
    sweep_at_ = now + kSweepInterval;
  }
  return actions;
}

void AgentMachine::finish(Actions& actions) {
  phase_ = Phase::kGone;
  kill_at_.reset();
  sweep_at_.reset();
  actions.emplace_back(Send{Gone{}});
  if (drained_) actions.emplace_back(Send{Drained{}});
  if (drained_ || alone_) actions.emplace_back(Exit{});
}

AgentMachine::Actions AgentMachine::output_drained() {
  if (drained_) return {};
  drained_ = true;
  if (phase_ != Phase::kGone || alone_) return {};
  return {Send{Drained{}}, Exit{}};
}

AgentMachine::Actions AgentMachine::time_passed(Time now) {
  if (kill_at_ && now >= *kill_at_) return begin_kill(now);
  if (sweep_at_ && now >= *sweep_at_) {
    sweep_at_.reset();
    return {Sweep{phase_ == Phase::kKilling ? SIGKILL : 0}};
  }
  return {};
}

std::optional<Time> AgentMachine::deadline() const {
  if (kill_at_ && sweep_at_) return std::min(*kill_at_, *sweep_at_);
  return kill_at_ ? kill_at_ : sweep_at_;
}

}  // namespace lockstep::launcher
