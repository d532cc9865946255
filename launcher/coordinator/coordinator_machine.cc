#include "launcher/coordinator/coordinator_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace lockstep::launcher {
namespace {

constexpr std::size_t kKeptErrors = std::size_t{8} << 10;

bool failed(const Ended& ended) {
  return ended.code != 0 || ended.signal != 0;
}

}  // namespace

CoordinatorMachine::CoordinatorMachine(JobPlan plan) : plan_(std::move(plan)) {
  for (const std::uint32_t count : plan_.workers_per_host) {
    Host& host = hosts_.emplace_back();
    host.first_rank = static_cast<std::uint32_t>(workers_.size());
    workers_.resize(workers_.size() + count, Worker{hosts_.size() - 1, 0, std::nullopt, {}});
  }
}

bool CoordinatorMachine::all(bool Host::*flag) const {
  return std::ranges::all_of(hosts_, [flag](const Host& host) { return host.*flag; });
}

CoordinatorMachine::Actions CoordinatorMachine::received(std::size_t host, Message message,
                                                         Time now) {
  Actions actions;
  Host& from = hosts_.at(host);
  if (const auto* ready = std::get_if<Ready>(&message)) {
    from.name = ready->host;
    from.agent_pid = ready->pid;
    from.port = ready->port;
    from.ready = true;
    if (ready->version != plan_.version) {
      const std::string what =
          fmt::format("is version {} where {} is needed: install the same lockstep", ready->version,
                      plan_.version);
      fail({0,
            {{}, from.name, ready->pid, what, {}, {}, {}},
            kExitNotStarted,
            ExitSource::kLauncher},
           actions, now);
    } else {
      start_if_all_ready(actions);
    }
  } else if (const auto* started = std::get_if<Started>(&message)) {
    workers_.at(started->rank).pid = started->pid;
    actions.emplace_back(
        Say{fmt::format("rank {} runs on {} as pid {}", started->rank, from.name, started->pid),
            Level::kVerbose});
  } else if (auto* not_started = std::get_if<NotStarted>(&message)) {
    Culprit culprit{
        not_started->rank, from.name, 0, "was not started: " + not_started->why, {}, {}, {}};
    fail({0, std::move(culprit), kExitNotStarted, ExitSource::kLauncher}, actions, now);
  } else if (auto* output = std::get_if<Output>(&message)) {
    remember_errors(*output);
    actions.emplace_back(Show{host, std::move(*output)});
  } else if (const auto* ended = std::get_if<Ended>(&message)) {
    record_end(*ended, actions, now);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    actions.emplace_back(Say{fmt::format("{}: {}", from.name, note->text)});
  } else if (std::holds_alternative<Gone>(message)) {
    from.gone = true;
    check_end(actions, now);
  } else if (std::holds_alternative<Drained>(message)) {
    from.drained = true;
    check_end(actions, now);
  }
  return actions;
}

void CoordinatorMachine::start_if_all_ready(Actions& actions) {
  if (stopping_ || !all(&Host::ready)) return;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    HostJob job = plan_.job;
    job.world = static_cast<std::uint32_t>(workers_.size());
    job.first_rank = hosts_[h].first_rank;
    job.local_world = plan_.workers_per_host[h];
    job.host_rank = static_cast<std::uint32_t>(h);
    job.hosts = static_cast<std::uint32_t>(hosts_.size());
    job.master_port = hosts_[0].port;
    actions.emplace_back(
        Say{fmt::format("host {} ({}): ranks {} to {}, agent pid {}, interface {}, "
                        "MASTER_ADDR {} MASTER_PORT {}, store {}",
                        h, hosts_[h].name, job.first_rank, job.first_rank + job.local_world - 1,
                        hosts_[h].agent_pid, job.interface, job.master_address, job.master_port,
                        job.store_address),
            Level::kVerbose});
    actions.emplace_back(SendTo{h, Start{std::move(job)}});
  }
}

void CoordinatorMachine::remember_errors(const Output& output) {
  if (output.stream != Stream::kErr) return;
  std::string& kept = workers_.at(output.rank).last_errors;
  kept += output.bytes;
  if (kept.size() > 2 * kKeptErrors) kept.erase(0, kept.size() - kKeptErrors);
}

void CoordinatorMachine::record_end(const Ended& ended, Actions& actions, Time now) {
  Worker& worker = workers_.at(ended.rank);
  worker.ended = ended;
  if (!failed(ended)) return;
  // After we began to stop, a worker that our own signal ended has not failed.
  if (stopping_ && (ended.signal == SIGTERM || ended.signal == SIGKILL)) return;
  const int code = ended.signal != 0 ? 128 + ended.signal : ended.code;
  Culprit culprit{ended.rank, hosts_[worker.host].name, worker.pid, how_it_ended(ended), {}, {},
                  {}};
  fail({ended.time_ns, std::move(culprit), code, ExitSource::kWorker}, actions, now);
}

void CoordinatorMachine::fail(Failure failure, Actions& actions, Time now) {
  failures_.push_back(std::move(failure));
  if (!stopping_) stop_all(plan_.grace, kFailureSlack, actions, now);
}

void CoordinatorMachine::stop_all(std::chrono::milliseconds grace, std::chrono::milliseconds slack,
                                  Actions& actions, Time now) {
  stopping_ = true;
  deadline_ = std::min(deadline_.value_or(Time::max()), now + grace + slack);
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (!hosts_[h].gone) actions.emplace_back(SendTo{h, Stop{grace.count()}});
  }
}

CoordinatorMachine::Actions CoordinatorMachine::agent_lost(std::size_t host, int code,
                                                           const std::string& why, Time now) {
  Actions actions;
  Host& from = hosts_.at(host);
  from.lost = true;
  if (from.drained) return actions;
  const bool finishing = stopping_ && from.gone;
  from.gone = from.drained = true;
  actions.emplace_back(Sweep{});
  // What we ended ourselves, or had nothing left to do, is no failure of its own.
  if (!finishing && !interrupted_ && failures_.empty()) {
    Culprit culprit{{}, from.name, from.agent_pid, why, {}, {}, {}};
    const int result = from.ready ? code : kExitNotStarted;
    fail({0, std::move(culprit), result, ExitSource::kLauncher}, actions, now);
  }
  check_end(actions, now);
  return actions;
}

CoordinatorMachine::Actions CoordinatorMachine::interrupted(const std::string& by, Time now) {
  Actions actions;
  if (all(&Host::gone)) {  // the work is over; only a reader of our output is slow
    deadline_ = now;
    return time_passed(now);
  }
  if (stopping_) {
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      if (!hosts_[h].gone) actions.emplace_back(SendTo{h, Kill{}});
    }
    deadline_ = std::min(deadline_.value_or(Time::max()), now + kInterruptSlack);
    return actions;
  }
  interrupted_ = true;
  actions.emplace_back(Say{fmt::format("{}: ending {} worker{} (once more kills them at once)", by,
                                       workers_.size(), workers_.size() == 1 ? "" : "s")});
  stop_all(std::min(plan_.grace, kInterruptGrace), kInterruptSlack, actions, now);
  return actions;
}

void CoordinatorMachine::check_end(Actions& actions, Time now) {
  if (finished_ || !all(&Host::gone)) return;
  if (all(&Host::drained)) {
    finished_ = true;
    deadline_.reset();
    actions.emplace_back(Finish{});
  } else if (interrupted_) {
    deadline_ = now + kLastOutput;
  } else {
    deadline_.reset();  // a slow reader may take its time
  }
}

CoordinatorMachine::Actions CoordinatorMachine::time_passed(Time now) {
  Actions actions;
  if (!deadline_ || now < *deadline_) return actions;
  deadline_.reset();
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    if (!hosts_[h].gone) {
      actions.emplace_back(Say{fmt::format("the agent on {} (pid {}) does not answer and is killed",
                                           hosts_[h].name, hosts_[h].agent_pid)});
      actions.emplace_back(EndAgent{h});
      actions.emplace_back(Sweep{});
    }
    hosts_[h].gone = hosts_[h].drained = true;
  }
  check_end(actions, now);
  return actions;
}

Outcome CoordinatorMachine::outcome() const {
  if (failures_.empty()) {
    if (!interrupted_) return {};
    return {Status::kInterrupted, kExitInterrupted, ExitSource::kLauncher, std::nullopt};
  }
  const Failure& first = *std::ranges::min_element(failures_, {}, &Failure::time_ns);
  if (interrupted_ && first.source == ExitSource::kWorker) {
    // What fails while it is being interrupted fails because of that.
    return {Status::kInterrupted, kExitInterrupted, ExitSource::kLauncher, std::nullopt};
  }
  Outcome outcome{Status::kFailed, first.code, first.source, first.culprit};
  Culprit& culprit = *outcome.culprit;
  if (culprit.rank) culprit.last_errors = workers_[*culprit.rank].last_errors;
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
    if (rank == culprit.rank) continue;
    const auto same_rank = [rank](const Failure& f) { return f.culprit.rank == rank; };
    if (std::ranges::any_of(failures_, same_rank)) {
      culprit.failed_after.push_back(rank);
    } else if (!workers_[rank].ended || failed(*workers_[rank].ended)) {
      culprit.ended_by_us.push_back(rank);
    }
  }
  return outcome;
}

}  // namespace lockstep::launcher
