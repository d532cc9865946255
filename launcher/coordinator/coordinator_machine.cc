#include "launcher/coordinator/coordinator_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::launcher {
namespace {

constexpr CoordinatorMachine::Time kTick = std::chrono::seconds(1);

}  // namespace

CoordinatorMachine::CoordinatorMachine(JobPlan plan)
    : plan_(std::move(plan)), hosts_(plan_.hosts.size()), policy_(plan_.max_restarts) {
  for (std::size_t h = 0; h < hosts_.size(); ++h) hosts_[h].name = plan_.hosts[h].name;
}

std::size_t CoordinatorMachine::count(Host::State state) const {
  return static_cast<std::size_t>(std::ranges::count(hosts_, state, &Host::state));
}

Attempt::Clock CoordinatorMachine::clock() const {
  return [this](std::size_t host, std::int64_t wall_ns) {
    return hosts_[host].liveness.ours(wall_ns);
  };
}

CoordinatorMachine::Actions CoordinatorMachine::begin(Time now) {
  Actions actions;
  last_tick_ = called_ = now;
  deadline_ = now + plan_.connect + kSetupLimit;  // the driver knows better, as a rule
  for (std::size_t host = 0; host < hosts_.size(); ++host) call(host, now, actions);
  return actions;
}

void CoordinatorMachine::call(std::size_t host, Time at, Actions& actions) {
  hosts_[host].state = Host::State::kConnecting;
  actions.emplace_back(Connect{host, at});
}

CoordinatorMachine::Actions CoordinatorMachine::received(std::size_t host, Message message,
                                                         Time now) {
  Actions actions;
  Host& from = hosts_.at(host);
  if (const auto* ready = std::get_if<Ready>(&message)) {
    take_ready(host, *ready, now, actions);
    return actions;
  }
  if (from.state != Host::State::kReady) return actions;
  from.liveness.heard(now);
  const auto is_current = [this](std::uint32_t generation) {
    return attempt_ && attempt_->generation() == generation;
  };
  if (const auto* pong = std::get_if<Pong>(&message)) {
    from.liveness.heard(*pong, now);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    actions.emplace_back(Say{fmt::format("{}: {}", from.name, note->text)});
  } else if (const auto* surveyed = std::get_if<Surveyed>(&message)) {
    if (phase_ == Phase::kSurveying && is_current(surveyed->generation) && !stopping_) {
      ask_who_reaches(surveyed->port, actions);
    }
  } else if (auto* reached = std::get_if<Reached>(&message)) {
    if (phase_ == Phase::kReaching && is_current(reached->generation) && !stopping_) {
      from.reached = std::move(*reached);
      choose_address(now, actions);
    }
  } else if (const auto* prepared = std::get_if<Prepared>(&message)) {
    if (phase_ == Phase::kPreparing && is_current(prepared->generation) && !stopping_) {
      start(*prepared, now, actions);
    }
  } else if (const auto* progress = std::get_if<Progress>(&message)) {
    if (!is_current(progress->generation)) return actions;
    progressed_ = true;
    // What is saved now is not repeated by those who go on: the moment to let a host back in.
    const bool spare = count(Host::State::kReady) > attempt_->members().size();
    if (spare && attempt_->members().size() < plan_.wanted() && !stopping_) {
      regrowing_ = true;
      actions.emplace_back(Say{"a host is back: the job goes on with it from here"});
      stop_all(plan_.grace, kFailureSlack, now, actions);
    }
  } else if (attempt_) {
    take_worker_message(host, message, now, actions);
  }
  return actions;
}

void CoordinatorMachine::take_ready(std::size_t host, const Ready& ready, Time now,
                                    Actions& actions) {
  Host& from = hosts_.at(host);
  if (from.state == Host::State::kReady || phase_ == Phase::kFinished) return;
  // The attempt goes on without a host that is back; Progress lets it in.
  if (ready.version != plan_.version) {
    actions.emplace_back(EndAgent{host});
    lose(host, kExitNotStarted,
         fmt::format("has lockstep-agent {} where {} is needed: install the same version there",
                     ready.version, plan_.version),
         now, actions);
    return;
  }
  from.state = Host::State::kReady;
  from.name = plan_.hosts.size() == 1 ? ready.host : plan_.hosts[host].name;
  from.agent_pid = ready.pid;
  from.addresses = ready.addresses;
  from.next_call = kFirstReturn;
  from.liveness.begin(now);
  actions.emplace_back(SendTo{host, *from.liveness.due(now)});
  next_look_ = std::min(next_look_, from.liveness.next(plan_.silence));
  if (phase_ == Phase::kGathering) gather(now, actions);
}

void CoordinatorMachine::take_worker_message(std::size_t host, Message& message, Time now,
                                             Actions& actions) {
  Member* member = attempt_->member_on(host);
  if (member == nullptr) return;
  const std::string& name = hosts_[host].name;
  if (const auto* tuned = std::get_if<Tuned>(&message)) {
    // One line for all to see; the others' where more is asked for.
    actions.emplace_back(
        Say{fmt::format("{}probe {} ms, {} NCCL setting{}",
                        attempt_->members().size() == 1 ? "" : name + ": ", tuned->probe_ms,
                        tuned->settings, tuned->settings == 1 ? "" : "s"),
            host == attempt_->leader().host ? Level::kAlways : Level::kVerbose});
    actions.emplace_back(Say{tuned->explanation, Level::kVerbose});
  } else if (const auto* started = std::get_if<Started>(&message)) {
    if (!attempt_->has(host, started->rank)) return;
    attempt_->started(*started);
    actions.emplace_back(
        Say{fmt::format("rank {} runs on {} as pid {}", started->rank, name, started->pid),
            Level::kVerbose});
    if (attempt_->all_started()) {
      actions.emplace_back(
          Say{phases(now), attempt_->members().size() > 1 ? Level::kAlways : Level::kVerbose});
    }
  } else if (const auto* not_started = std::get_if<NotStarted>(&message)) {
    fail({.host = host,
          .wall_ns = {},
          .at = now,
          .culprit =
              {not_started->rank, name, 0, "was not started: " + not_started->why, {}, {}, {}},
          .code = kExitNotStarted,
          .source = ExitSource::kLauncher,
          .kind = Attempt::Failure::Kind::kStart},
         now, actions);
  } else if (auto* output = std::get_if<Output>(&message)) {
    if (!attempt_->has(host, output->rank)) return;
    attempt_->printed(*output);
    actions.emplace_back(Show{host, std::move(*output)});
  } else if (const auto* ended = std::get_if<Ended>(&message)) {
    if (!attempt_->has(host, ended->rank)) return;
    if (noticed_ && ended->signal == 0 && ended->code == kExitPreempted) {
      // It acts on the notice; the others are given time to.
      preempted_ = true;
      (void)attempt_->ended(*ended, name, Attempt::Stopping::kYes, now);
      if (!stopping_) stop_all(plan_.grace, kFailureSlack, now, actions);
    } else if (regrowing_) {
      // Whatever it makes of our SIGTERM, the next attempt repeats it.
      (void)attempt_->ended(*ended, name, Attempt::Stopping::kYes, now);
    } else if (auto failure = attempt_->ended(
                   *ended, name, stopping_ ? Attempt::Stopping::kYes : Attempt::Stopping::kNo,
                   now)) {
      fail(std::move(*failure), now, actions);
    }
  } else if (const auto* gone = std::get_if<Gone>(&message)) {
    if (gone->generation == attempt_->generation()) member->gone = true;
    check_end(now, actions);
  } else if (const auto* drained = std::get_if<Drained>(&message)) {
    if (drained->generation == attempt_->generation()) member->drained = true;
    check_end(now, actions);
  }
}

CoordinatorMachine::Actions CoordinatorMachine::agent_lost(std::size_t host, int code,
                                                           const std::string& why, Time now) {
  Actions actions;
  lose(host, code, why, now, actions);
  return actions;
}

CoordinatorMachine::Actions CoordinatorMachine::not_reached(std::size_t host,
                                                            const std::string& why, Time now) {
  Actions actions;
  lose(host, kExitNotStarted, why, now, actions);
  return actions;
}

void CoordinatorMachine::give_up(std::size_t host, Time now, Actions& actions) {
  actions.emplace_back(EndAgent{host});
  hosts_[host].clear_at = now + kOrphansEnd;
}

void CoordinatorMachine::call_again(std::size_t host, Time now, Actions& actions) {
  if (!elastic() || stopping_for_good()) return;
  Host& lost = hosts_[host];
  actions.emplace_back(Connect{host, std::max(now + lost.next_call, lost.clear_at)});
  lost.next_call = std::min<Time>(2 * lost.next_call, kLongestReturn);
}

void CoordinatorMachine::lose(std::size_t host, int code, const std::string& why, Time now,
                              Actions& actions) {
  if (phase_ == Phase::kFinished) return;
  Host& lost = hosts_.at(host);
  const Host::State before = std::exchange(lost.state, Host::State::kLost);
  lost.why = why;
  const Time last_heard = before == Host::State::kReady ? lost.liveness.last_heard() : now;
  lost.liveness.end();
  call_again(host, now, actions);
  if (before == Host::State::kLost) return;  // it was called again, in vain
  Member* member = attempt_ ? attempt_->member_on(host) : nullptr;
  if (phase_ == Phase::kGathering) {
    gather(now, actions);
    return;
  }
  if (member == nullptr) return;
  const bool finishing = member->gone && (stopping_ || attempt_->all_gone());
  member->gone = member->drained = true;
  if (!finishing && !interrupted_) {
    fail({.host = host,
          .wall_ns = {},
          .at = last_heard,
          .culprit = {{}, lost.name, lost.agent_pid, why, {}, {}, {}},
          .code = code,
          .source = ExitSource::kLauncher,
          .kind = Attempt::Failure::Kind::kHost},
         now, actions);
  }
  check_end(now, actions);
}

CoordinatorMachine::Actions CoordinatorMachine::noticed(int signal, Time) {
  Actions actions;
  noticed_ = true;
  if (phase_ == Phase::kRunning) send_to_members(Notice{signal}, actions);
  return actions;
}

CoordinatorMachine::Actions CoordinatorMachine::pausing() {
  Actions actions;
  paused_ = true;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (hosts_[h].state == Host::State::kReady) actions.emplace_back(SendTo{h, Pause{}});
  }
  return actions;
}

CoordinatorMachine::Actions CoordinatorMachine::resumed(Time now) {
  Actions actions;
  if (!std::exchange(paused_, false)) return actions;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (hosts_[h].state == Host::State::kReady) actions.emplace_back(SendTo{h, Resume{}});
  }
  // Answers that came meanwhile are not read yet.
  excuse(now - std::exchange(last_tick_, now));
  for (Action& action : time_passed(now)) actions.emplace_back(std::move(action));
  return actions;
}

void CoordinatorMachine::excuse(Time gap) {
  for (Host& host : hosts_) host.liveness.excuse(gap);
  if (deadline_) *deadline_ += gap;
}

void CoordinatorMachine::send_to_members(const Message& message, Actions& actions) {
  for (const Member& member : attempt_->members()) {
    if (hosts_[member.host].state == Host::State::kReady) {
      actions.emplace_back(SendTo{member.host, message});
    }
  }
}

CoordinatorMachine::Actions CoordinatorMachine::time_passed(Time now) {
  Actions actions;
  if (phase_ == Phase::kFinished) return actions;
  // Where we did not run for a while (a stopped launcher, a laptop that slept), nobody else is
  // late.
  if (const Time gap = now - std::exchange(last_tick_, now); gap > 3 * kTick) {
    excuse(gap);
  }
  if (now >= next_look_) look_at_hosts(now, actions);
  if (deadline_ && now >= *deadline_) overdue(now, actions);
  return actions;
}

void CoordinatorMachine::look_at_hosts(Time now, Actions& actions) {
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    Host& host = hosts_[h];
    if (host.liveness.silent(now, plan_.silence)) {
      give_up(h, now, actions);
      lose(h, 1,
           fmt::format("is silent: nothing was heard from it for {:.1f} s (the host is down, its "
                       "link is cut, or its agent was stopped)",
                       std::chrono::duration<double>(now - host.liveness.last_heard()).count()),
           now, actions);
    } else if (const auto ping = host.liveness.due(now)) {
      actions.emplace_back(SendTo{h, *ping});
    }
  }
  next_look_ = Time::max();
  for (const Host& host : hosts_) {
    if (!host.liveness.watching()) continue;
    next_look_ = std::min(next_look_, host.liveness.next(plan_.silence));
  }
  next_look_ = std::max<Time>(next_look_, now + kLookInterval);
}

std::optional<CoordinatorMachine::Time> CoordinatorMachine::deadline() const {
  if (phase_ == Phase::kFinished) return std::nullopt;
  // Often enough not to take our own sleep for that of the whole machine.
  return std::min({deadline_.value_or(Time::max()), last_tick_ + kTick, next_look_});
}

}  // namespace lockstep::launcher
