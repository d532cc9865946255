#include "launcher/agent/agent_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace lockstep::launcher {

AgentMachine::Actions AgentMachine::received(const Message& message, std::int64_t wall_ns,
                                             Time now) {
  last_heard_ = now;
  if (const auto* ping = std::get_if<Ping>(&message)) return {Send{Pong{ping->number, wall_ns}}};
  if (alone_) return {};
  return take(message, now);
}

AgentMachine::Actions AgentMachine::take(const Message& message, Time now) {
  if (const auto* survey = std::get_if<Survey>(&message)) return {ListenForOthers{*survey}};
  if (const auto* reach = std::get_if<Reach>(&message)) return {TryAddresses{*reach}};
  if (const auto* prepare = std::get_if<Prepare>(&message)) return {OpenStore{*prepare}};
  if (const auto* start = std::get_if<Start>(&message)) return begin_start(*start);
  if (const auto* credit = std::get_if<Credit>(&message)) return {AddCredit{credit->bytes}};
  if (const auto* stop = std::get_if<Stop>(&message)) return begin_stop(*stop, now);
  if (const auto* notice = std::get_if<Notice>(&message)) {
    if (idle()) return {};
    return {SignalGroups{notice->signal}};
  }
  if (std::holds_alternative<Kill>(message)) return begin_kill(now);
  if (std::holds_alternative<Dismiss>(message)) return dismiss(now);
  if (std::holds_alternative<Pause>(message)) return pause(SIGSTOP);
  if (std::holds_alternative<Resume>(message)) return pause(SIGCONT);
  return {};
}

AgentMachine::Actions AgentMachine::pause(int signal) {
  paused_ = signal == SIGSTOP;
  if (idle()) return {};
  return {SignalGroups{signal}};
}

AgentMachine::Actions AgentMachine::begin_start(const Start& start) {
  if (!idle() || leaving_for_good_) return {};
  if (phase_ == Phase::kGone && start.job.generation <= generation_) return {};
  phase_ = Phase::kRunning;
  generation_ = start.job.generation;
  living_workers_ = start.job.local_world;
  drained_ = false;
  return {StartWorkers{start.job}};
}

AgentMachine::Actions AgentMachine::coordinator_lost(Time now) {
  if (alone_) return {};
  alone_ = leaving_for_good_ = true;
  Actions actions{DiscardOutput{}};
  if (idle()) {
    actions.emplace_back(CloseStore{});
    actions.emplace_back(Exit{});
    return actions;
  }
  for (Action& action : begin_kill(now)) actions.emplace_back(std::move(action));
  return actions;
}

AgentMachine::Actions AgentMachine::dismiss(Time now) {
  leaving_for_good_ = true;
  if (idle()) return {CloseStore{}, Exit{}};
  return begin_kill(now);
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

AgentMachine::Actions AgentMachine::begin_stop(const Stop& stop, Time now) {
  if (phase_ == Phase::kWaiting || (phase_ == Phase::kGone && stop.generation > generation_)) {
    // It ends before it began here.
    generation_ = stop.generation;
    phase_ = Phase::kGone;
    drained_ = true;
    return {CloseStore{}, Send{Gone{generation_}}, Send{Drained{generation_}}};
  }
  if (stop.generation != generation_) return {};
  if (phase_ == Phase::kKilling || phase_ == Phase::kGone) return {};
  const auto grace = std::chrono::milliseconds(std::max(stop.grace_ms, std::int64_t{0}));
  kill_at_ = std::min(kill_at_.value_or(Time::max()), now + grace);
  if (phase_ == Phase::kStopping || phase_ == Phase::kLeaving) return {};
  Actions actions{SignalGroups{SIGTERM}};
  if (paused_) actions.emplace_back(SignalGroups{SIGCONT});
  phase_ = Phase::kStopping;
  if (living_workers_ == 0) leave(actions, now);
  return actions;
}

AgentMachine::Actions AgentMachine::begin_kill(Time now) {
  if (idle() || phase_ == Phase::kKilling) return {};
  phase_ = Phase::kKilling;
  kill_at_.reset();
  give_up_at_ = now + kKillingLimit;
  return {SignalGroups{SIGKILL}, Sweep{SIGKILL}};
}

AgentMachine::Actions AgentMachine::swept(std::size_t living, Time now) {
  Actions actions;
  if (idle()) return actions;
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
  actions.emplace_back(CloseStore{});
  actions.emplace_back(Send{Gone{generation_}});
  if (leaving_for_good_) actions.emplace_back(Exit{});
}

AgentMachine::Actions AgentMachine::output_drained() {
  if (phase_ != Phase::kGone || std::exchange(drained_, true)) return {};
  return {Send{Drained{generation_}}};
}

AgentMachine::Actions AgentMachine::time_passed(Time now) {
  if (silence_ && !paused_ && !alone_ && now - last_heard_ >= *silence_) {
    return coordinator_lost(now);
  }
  if (kill_at_ && now >= *kill_at_) return begin_kill(now);
  if (sweep_at_ && now >= *sweep_at_) {
    sweep_at_.reset();
    return {Sweep{phase_ == Phase::kKilling ? SIGKILL : 0}};
  }
  return {};
}

std::optional<Time> AgentMachine::deadline() const {
  std::optional<Time> next;
  const auto sooner = [&next](const std::optional<Time>& time) {
    if (time) next = std::min(next.value_or(Time::max()), *time);
  };
  sooner(kill_at_);
  sooner(sweep_at_);
  if (silence_ && !paused_ && !alone_) sooner(last_heard_ + *silence_);
  return next;
}

}  // namespace lockstep::launcher
