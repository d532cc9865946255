#include "launcher/remote/dial_plan.h"

#include <algorithm>

namespace lockstep::launcher {

void DialPlan::want(std::size_t host, Time at) {
  Host& wanted = hosts_.at(host);
  if (wanted.state != Host::State::kIdle) return;
  wanted = {.state = Host::State::kWaiting, .at = at, .first_call = {}, .pause = kFirstPause};
}

std::vector<std::size_t> DialPlan::due(Time now) {
  std::vector<std::size_t> hosts;
  for (std::size_t h = 0; h < hosts_.size() && calling_ < at_once_; ++h) {
    Host& host = hosts_[h];
    if (host.state != Host::State::kWaiting || host.at > now) continue;
    host.state = Host::State::kCalling;
    if (!host.first_call) host.first_call = now;
    ++calling_;
    hosts.push_back(h);
  }
  return hosts;
}

void DialPlan::leave(std::size_t host) {
  if (hosts_.at(host).state == Host::State::kCalling) --calling_;
  hosts_[host].state = Host::State::kIdle;
}

void DialPlan::answered(std::size_t host) {
  if (hosts_.at(host).state == Host::State::kCalling) {
    at_once_ = std::min(at_once_ + 1, kMostAtOnce);
  }
  leave(host);
}

void DialPlan::failed(std::size_t host) {
  leave(host);
}

bool DialPlan::turned_away(std::size_t host, Time now) {
  Host& turned = hosts_.at(host);
  leave(host);
  at_once_ = std::max(at_once_ / 2, kFewestAtOnce);
  std::uniform_real_distribution<double> part(0.5, 1.5);
  const auto pause = std::chrono::duration_cast<Time>(turned.pause * part(random_));
  turned.pause = std::min(2 * turned.pause, kLongestPause);
  if (now + pause >= *turned.first_call + per_host_) return false;
  turned.state = Host::State::kWaiting;
  turned.at = now + pause;
  return true;
}

std::vector<std::size_t> DialPlan::overdue(Time now) const {
  std::vector<std::size_t> hosts;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    const Host& host = hosts_[h];
    if (host.state == Host::State::kCalling && *host.first_call + per_host_ <= now) {
      hosts.push_back(h);
    }
  }
  return hosts;
}

std::optional<DialPlan::Time> DialPlan::next() const {
  std::optional<Time> next;
  for (const Host& host : hosts_) {
    if (host.state == Host::State::kIdle) continue;
    if (host.state == Host::State::kWaiting && calling_ >= at_once_) continue;
    const Time when = host.state == Host::State::kWaiting ? host.at : *host.first_call + per_host_;
    next = std::min(next.value_or(Time::max()), when);
  }
  return next;
}

}  // namespace lockstep::launcher
