// CoordinatorMachine: how an attempt is set up.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "launcher/coordinator/coordinator_machine.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";
constexpr std::string_view kLoopbackInterface = "lo";

// Host and port as one word; an IPv6 address in brackets.
std::string endpoint(const std::string& address, std::uint16_t port) {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

}  // namespace

// Begins an attempt once nobody is waited for who could still come, or, where the job has run
// already, as soon as there are enough.
void CoordinatorMachine::gather(Time now, Actions& actions) {
  const std::size_t ready = count(Host::State::kReady);
  const bool first = !attempt_;
  if (first && count(Host::State::kConnecting) > 0) return;
  if (ready >= plan_.needed()) {
    begin_attempt(now, actions);
  } else if (count(Host::State::kConnecting) == 0 && (first || !elastic())) {
    give_up_gathering(actions);
  }
}

void CoordinatorMachine::give_up_gathering(Actions& actions) {
  Outcome outcome;
  if (attempt_ && attempt_->failed()) {
    outcome = attempt_->outcome(clock());
  } else {
    outcome = {.status = Status::kFailed, .code = kExitNotStarted, .source = ExitSource::kLauncher};
  }
  std::vector<UnreachedHost> missing;
  for (const Host& host : hosts_) {
    if (host.state == Host::State::kReady) continue;
    missing.push_back({host.name, host.state == Host::State::kLost
                                      ? host.why
                                      : "did not answer within the time to connect"});
  }
  if (attempt_) {
    outcome.remark =
        fmt::format("a new attempt needs {} host{} and there {} {}: {} {}", plan_.needed(),
                    plan_.needed() == 1 ? "" : "s", count(Host::State::kReady) == 1 ? "is" : "are",
                    count(Host::State::kReady), missing.front().host, missing.front().why);
  } else {
    outcome.unreached = std::move(missing);
  }
  finish(std::move(outcome), actions);
}

void CoordinatorMachine::begin_attempt(Time now, Actions& actions) {
  std::vector<std::size_t> members;
  for (std::size_t h = 0; h < hosts_.size() && members.size() < plan_.wanted(); ++h) {
    if (hosts_[h].state == Host::State::kReady) members.push_back(h);
  }
  attempt_.emplace(next_generation_++, plan_, members);
  progressed_ = stopping_ = regrowing_ = false;
  gathered_ = addressed_ = now;
  deadline_ = now + kSetupLimit;
  if (members.size() == 1) {
    prepare(std::string(kLoopback), actions);
    return;
  }
  phase_ = Phase::kSurveying;
  token_ = fmt::format("{}-{}", plan_.job.run_id, attempt_->generation());
  for (const std::size_t h : members) hosts_[h].reached.reset();
  actions.emplace_back(SendTo{members.front(), Survey{attempt_->generation(), token_}});
}

std::vector<std::string> CoordinatorMachine::candidate_addresses() const {
  const std::size_t leader = attempt_->leader().host;
  std::vector<std::string> candidates;
  if (!plan_.hosts[leader].address.empty()) candidates.push_back(plan_.hosts[leader].address);
  for (const HostAddress& entry : hosts_[leader].addresses) {
    if (std::ranges::count(candidates, entry.address) == 0) candidates.push_back(entry.address);
  }
  return candidates;
}

void CoordinatorMachine::ask_who_reaches(std::uint16_t port, Actions& actions) {
  phase_ = Phase::kReaching;
  const Reach question{attempt_->generation(), candidate_addresses(), port, token_};
  for (const Member& member : attempt_->members()) {
    if (member.host != attempt_->leader().host) actions.emplace_back(SendTo{member.host, question});
  }
}

void CoordinatorMachine::choose_address(Time now, Actions& actions) {
  const std::size_t leader = attempt_->leader().host;
  std::vector<const Host*> others;
  for (const Member& member : attempt_->members()) {
    if (member.host == leader) continue;
    if (!hosts_[member.host].reached) return;
    others.push_back(&hosts_[member.host]);
  }
  const auto reaches = [](const Host* host, const std::string& address) {
    return std::ranges::count(host->reached->addresses, address) > 0;
  };
  const std::vector<std::string> candidates = candidate_addresses();
  for (const std::string& address : candidates) {
    if (std::ranges::all_of(others, [&](const Host* h) { return reaches(h, address); })) {
      addressed_ = now;
      prepare(address, actions);
      return;
    }
  }
  std::string why = fmt::format("has no address that every other host reaches (tried {})",
                                fmt::join(candidates, ", "));
  for (const Host* host : others) {
    why +=
        host->reached->addresses.empty()
            ? fmt::format("; {} reaches none of them", host->name)
            : fmt::format("; {} reaches {}", host->name, fmt::join(host->reached->addresses, ", "));
  }
  fail_setup(why, now, actions);
}

void CoordinatorMachine::prepare(const std::string& address, Actions& actions) {
  phase_ = Phase::kPreparing;
  address_ = address;
  actions.emplace_back(
      SendTo{attempt_->leader().host,
             Prepare{attempt_->generation(), attempt_->world(), address_, plan_.job.secret}});
}

std::string CoordinatorMachine::interface_of(std::size_t host, const std::string& address) const {
  if (attempt_->members().size() == 1) return std::string(kLoopbackInterface);
  if (host == attempt_->leader().host) {
    const auto found = std::ranges::find(hosts_[host].addresses, address, &HostAddress::address);
    return found == hosts_[host].addresses.end() ? "" : found->interface;
  }
  const Reached& reached = *hosts_[host].reached;
  const auto found = std::ranges::find(reached.addresses, address);
  const auto index = static_cast<std::size_t>(found - reached.addresses.begin());
  return index < reached.interfaces.size() ? reached.interfaces[index] : "";
}

void CoordinatorMachine::start(const Prepared& prepared, Time now, Actions& actions) {
  if (!prepared.why.empty()) {
    fail_setup("cannot open the job's store: " + prepared.why, now, actions);
    return;
  }
  phase_ = Phase::kRunning;
  prepared_ = now;
  deadline_.reset();
  for (std::size_t m = 0; m < attempt_->members().size(); ++m) {
    const Member& member = attempt_->members()[m];
    HostJob job = plan_.job;
    job.world = attempt_->world();
    job.first_rank = member.first_rank;
    job.local_world = member.workers;
    job.host_rank = static_cast<std::uint32_t>(m);
    job.hosts = static_cast<std::uint32_t>(attempt_->members().size());
    job.generation = attempt_->generation();
    job.max_restarts = plan_.max_restarts;
    job.master_address = address_;
    job.master_port = prepared.master_port;
    job.store_address = endpoint(address_, prepared.store_port);
    job.interface = interface_of(member.host, address_);
    const Host& host = hosts_[member.host];
    actions.emplace_back(
        Say{fmt::format("host {} ({}): ranks {} to {}, agent pid {}, interface {}, MASTER_ADDR {} "
                        "MASTER_PORT {}, store {}",
                        m, host.name, job.first_rank, job.first_rank + job.local_world - 1,
                        host.agent_pid, job.interface, job.master_address, job.master_port,
                        job.store_address),
            Level::kVerbose});
    actions.emplace_back(SendTo{member.host, Start{std::move(job)}});
  }
}

std::string CoordinatorMachine::phases(Time now) const {
  const auto seconds = [](Time time) { return std::chrono::duration<double>(time).count(); };
  return fmt::format(
      "{} workers on {} hosts in {:.2f} s: agents {:.2f}, addresses {:.2f}, store "
      "{:.2f}, workers {:.2f}",
      attempt_->world(), attempt_->members().size(), seconds(now - called_),
      seconds(gathered_ - called_), seconds(addressed_ - gathered_),
      seconds(prepared_ - addressed_), seconds(now - prepared_));
}

void CoordinatorMachine::setup_overdue(Time now, Actions& actions) {
  if (phase_ != Phase::kReaching) {
    fail_setup("did not make ready within the time to do so", now, actions);
    return;
  }
  std::string late;
  for (const Member& member : attempt_->members()) {
    const Host& host = hosts_[member.host];
    if (member.host == attempt_->leader().host || host.reached) continue;
    late += fmt::format("{}{}", late.empty() ? "" : ", ", host.name);
  }
  fail_setup("waited in vain for others to reach it: " + late, now, actions);
}

void CoordinatorMachine::fail_setup(const std::string& why, Time now, Actions& actions) {
  const Host& leader = hosts_[attempt_->leader().host];
  fail({.host = attempt_->leader().host,
        .wall_ns = {},
        .at = now,
        .culprit = {{}, leader.name, leader.agent_pid, why, {}, {}, {}},
        .code = kExitNotStarted,
        .source = ExitSource::kLauncher,
        .kind = Attempt::Failure::Kind::kStart},
       now, actions);
}

}  // namespace lockstep::launcher
