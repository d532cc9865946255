// CoordinatorMachine: how an attempt ends, and what follows.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/coordinator/coordinator_machine.h"

namespace lockstep::launcher {

void CoordinatorMachine::fail(Attempt::Failure failure, Time now, Actions& actions) {
  attempt_->fail(std::move(failure));
  if (!stopping_) stop_all(plan_.grace, kFailureSlack, now, actions);
}

void CoordinatorMachine::stop_all(std::chrono::milliseconds grace, std::chrono::milliseconds slack,
                                  Time now, Actions& actions) {
  stopping_ = true;
  deadline_ = now + grace + slack;
  for (const Member& member : attempt_->members()) {
    if (!member.gone) {
      actions.emplace_back(SendTo{member.host, Stop{attempt_->generation(), grace.count()}});
    }
  }
}

CoordinatorMachine::Actions CoordinatorMachine::interrupted(const std::string& by, Time now) {
  Actions actions;
  if (phase_ == Phase::kFinished) return actions;
  last_attempt_ = true;
  if (phase_ == Phase::kGathering) {
    interrupted_ = true;
    finish(
        {.status = Status::kInterrupted, .code = kExitInterrupted, .source = ExitSource::kLauncher},
        actions);
    return actions;
  }
  if (attempt_->all_gone()) {  // the work is over; only a reader of our output is slow
    deadline_ = now;
    overdue(now, actions);
    return actions;
  }
  if (interrupted_ || (stopping_ && !preempted_)) {
    interrupted_ = interrupted_ || !attempt_->failed();
    send_to_members(Kill{}, actions);
    deadline_ = std::min(deadline_.value_or(Time::max()), now + kInterruptSlack);
    return actions;
  }
  interrupted_ = true;
  actions.emplace_back(Say{fmt::format("{}: ending {} worker{} (once more kills them at once)", by,
                                       attempt_->world(), attempt_->world() == 1 ? "" : "s")});
  stop_all(std::min(plan_.grace, kInterruptGrace), kInterruptSlack, now, actions);
  return actions;
}

CoordinatorMachine::Actions CoordinatorMachine::preempted(const std::string& by,
                                                          std::chrono::milliseconds grace,
                                                          Time now) {
  Actions actions;
  if (phase_ == Phase::kFinished || std::exchange(preempted_, true)) return actions;
  if (phase_ == Phase::kGathering) {
    finish({.status = Status::kPreempted, .code = kExitPreempted, .source = ExitSource::kLauncher},
           actions);
    return actions;
  }
  if (stopping_ && !regrowing_) {
    failed_first_ = attempt_->failed() && !noticed_;
    return actions;
  }
  actions.emplace_back(
      Say{fmt::format("{}: {} worker{} {} {:.0f} s to save and end", by, attempt_->world(),
                      attempt_->world() == 1 ? "" : "s", attempt_->world() == 1 ? "has" : "have",
                      std::chrono::duration<double>(grace).count())});
  stop_all(grace, kFailureSlack, now, actions);
  return actions;
}

void CoordinatorMachine::check_end(Time now, Actions& actions) {
  if (phase_ == Phase::kFinished || phase_ == Phase::kGathering || !attempt_->all_gone()) return;
  if (attempt_->all_drained()) {
    conclude(now, actions);
  } else if (interrupted_) {
    deadline_ = now + kLastOutput;
  } else {
    deadline_.reset();  // a slow reader may take its time
  }
}

void CoordinatorMachine::conclude(Time now, Actions& actions) {
  deadline_.reset();
  if (interrupted_ &&
      !(attempt_->failed() && attempt_->first_failure(clock()).source == ExitSource::kLauncher)) {
    // What fails while it is being interrupted fails because of that.
    finish(
        {.status = Status::kInterrupted, .code = kExitInterrupted, .source = ExitSource::kLauncher},
        actions);
  } else if (preempted_ && !failed_first_) {
    if (attempt_->every_worker_ended_well()) {
      finish({}, actions);
    } else {
      finish(
          {.status = Status::kPreempted, .code = kExitPreempted, .source = ExitSource::kLauncher},
          actions);
    }
  } else if (attempt_->failed()) {
    const bool host = attempt_->first_failure(clock()).kind == Attempt::Failure::Kind::kHost;
    try_again(
        host && elastic() ? RestartPolicy::Cause::kMembership : RestartPolicy::Cause::kFailure, now,
        actions);
  } else if (regrowing_) {
    try_again(RestartPolicy::Cause::kMembership, now, actions);
  } else {
    finish({}, actions);
  }
}

void CoordinatorMachine::try_again(RestartPolicy::Cause cause, Time now, Actions& actions) {
  const auto verdict = policy_.ended(
      cause, progressed_ ? RestartPolicy::Progress::kMade : RestartPolicy::Progress::kNone);
  const bool startable = !attempt_->failed() ||
                         attempt_->first_failure(clock()).kind != Attempt::Failure::Kind::kStart;
  if (verdict == RestartPolicy::Verdict::kRestart && startable && preempted_) {
    finish({.status = Status::kPreempted, .code = kExitPreempted, .source = ExitSource::kLauncher},
           actions);
    return;
  }
  if (verdict != RestartPolicy::Verdict::kRestart || !startable || last_attempt_) {
    Outcome outcome = attempt_->outcome(clock());
    if (verdict == RestartPolicy::Verdict::kNoProgress) {
      outcome.code = kExitNoProgress;
      outcome.remark = fmt::format(
          "{} attempts in a row saved nothing new: the job is not tried again (exit code {})",
          RestartPolicy::kHopeless, kExitNoProgress);
    }
    finish(std::move(outcome), actions);
    return;
  }
  if (attempt_->failed()) {
    actions.emplace_back(
        Say{fmt::format("attempt {} failed, and another begins:", attempt_->generation() + 1)});
    actions.emplace_back(Say{failure_report(attempt_->outcome(clock()), plan_.job.run_folder)});
  }
  phase_ = Phase::kGathering;
  called_ = now;
  stopping_ = false;
  deadline_ = now + (elastic() ? kWaitForHosts : kOrphansEnd + plan_.connect + kSetupLimit);
  if (!elastic()) {
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      const Host& host = hosts_[h];
      if (host.state != Host::State::kLost) continue;
      call(h, std::max<Time>(now + kFirstReturn, host.clear_at), actions);
    }
  }
  gather(now, actions);
}

void CoordinatorMachine::finish(Outcome outcome, Actions& actions) {
  phase_ = Phase::kFinished;
  deadline_.reset();
  outcome_ = std::move(outcome);
  if (attempt_) {
    outcome_.restarts = attempt_->generation();
    outcome_.world = attempt_->world();
  }
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (hosts_[h].state == Host::State::kReady) actions.emplace_back(SendTo{h, Dismiss{}});
  }
  actions.emplace_back(Finish{});
}

void CoordinatorMachine::overdue(Time now, Actions& actions) {
  deadline_.reset();
  if (phase_ == Phase::kGathering) {
    give_up_gathering(actions);
    return;
  }
  if (setting_up() && !stopping_) {
    setup_overdue(now, actions);
    return;
  }
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    Member* found = attempt_->member_on(h);
    if (found == nullptr) continue;
    Member& member = *found;
    Host& host = hosts_[h];
    // The output of those that are done goes with them only where nobody waits for it.
    if (interrupted_) member.drained = true;
    if (member.gone) continue;
    member.gone = member.drained = true;
    actions.emplace_back(Say{fmt::format("the agent on {} (pid {}) does not answer and is given up",
                                         host.name, host.agent_pid)});
    give_up(h, now, actions);
    host.liveness.end();
    host.state = Host::State::kLost;
    host.why = "did not end its workers in time";
    call_again(h, now, actions);
  }
  check_end(now, actions);
}

}  // namespace lockstep::launcher
