#include "launcher/agent/guard_machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::launcher {

GuardMachine::Actions GuardMachine::beat(Time now) {
  silent_ = Time::zero();
  looked_at_ = now;
  return {};
}

GuardMachine::Actions GuardMachine::released() {
  if (phase_ == Phase::kWatching) phase_ = Phase::kReleased;
  return {};
}

GuardMachine::Actions GuardMachine::agent_ended(Time now) {
  agent_lives_ = false;
  if (phase_ == Phase::kReleased) return leave();
  return phase_ == Phase::kWatching ? end_job(now) : Actions{};
}

GuardMachine::Actions GuardMachine::time_passed(Time now) {
  if (phase_ == Phase::kOver) return {};
  if (phase_ == Phase::kEnding) return now >= sweep_at_ ? Actions{EndJob{}} : Actions{};
  // Beyond two looks the guard did not run either.
  silent_ += std::min(now - looked_at_, 2 * look_interval());
  looked_at_ = now;
  if (silent_ < silence_) return {};
  Actions actions{Complain{
      fmt::format("the agent gave no sign of life for {:.3g} s (it is stopped, or waits for a lost "
                  "file system): it and its workers are ended",
                  std::chrono::duration<double>(silence_).count())}};
  for (Action& action : end_job(now)) actions.push_back(std::move(action));
  return actions;
}

GuardMachine::Actions GuardMachine::end_job(Time now) {
  phase_ = Phase::kEnding;
  sweep_at_ = now + kSweepInterval;
  give_up_at_ = now + kEndingLimit;
  return {EndJob{}};
}

GuardMachine::Actions GuardMachine::swept(std::size_t living, Time now) {
  if (phase_ != Phase::kEnding) return {};
  if (living == 0 && !agent_lives_) return leave();
  if (now >= give_up_at_) {
    Actions actions{Complain{fmt::format(
        "{} processes of the job do not end although they were killed: they hang in the kernel, "
        "on a lost file system or device perhaps",
        living)}};
    for (Action& action : leave()) actions.push_back(std::move(action));
    return actions;
  }
  sweep_at_ = now + kSweepInterval;
  return {};
}

GuardMachine::Actions GuardMachine::leave() {
  phase_ = Phase::kOver;
  return {Leave{}};
}

std::optional<GuardMachine::Time> GuardMachine::deadline() const {
  switch (phase_) {
    case Phase::kOver:
      return std::nullopt;
    case Phase::kEnding:
      return sweep_at_;
    default:
      return looked_at_ + look_interval();
  }
}

}  // namespace lockstep::launcher
