#include "launcher/coordinator/liveness.h"

#include <algorithm>

namespace lockstep::launcher {

void Liveness::begin(Time now) {
  next_ping_ = now;
  last_heard_ = now;
  quickest_.reset();
}

void Liveness::heard(const Pong& pong, Time now) {
  heard(now);
  if (pong.number != number_) return;  // a late answer says nothing about the clock
  const Time round_trip = now - sent_;
  if (quickest_ && *quickest_ <= round_trip) return;
  quickest_ = round_trip;
  offset_ = Time(pong.time_ns) - (sent_ + round_trip / 2);
}

std::optional<Ping> Liveness::due(Time now) {
  if (!next_ping_ || now < *next_ping_) return std::nullopt;
  next_ping_ = now + kInterval;
  sent_ = now;
  return Ping{++number_};
}

bool Liveness::silent(Time now, Time limit) const {
  return watching() && now - last_heard_ >= limit;
}

void Liveness::excuse(Time gap) {
  last_heard_ += gap;
}

Liveness::Time Liveness::next(Time limit) const {
  return std::min(*next_ping_, last_heard_ + limit);
}

std::optional<Liveness::Time> Liveness::ours(std::int64_t theirs_ns) const {
  if (!quickest_) return std::nullopt;
  return Time(theirs_ns) - offset_;
}

}  // namespace lockstep::launcher
