// Whether the other side is still there, and what its clock says, from Ping and Pong alone.
//
// One of these a host. Thread rule: one thread. Cost: a Ping a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

class Liveness {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point; it must not jump

  static constexpr Time kInterval = std::chrono::seconds(1);  // between Pings

  // From now on it is expected to answer.
  void begin(Time now);
  void end() { next_ping_.reset(); }
  [[nodiscard]] bool watching() const { return next_ping_.has_value(); }

  void heard(Time now) { last_heard_ = now; }
  void heard(const Pong& pong, Time now);
  // The Ping that is due, if one is.
  [[nodiscard]] std::optional<Ping> due(Time now);
  [[nodiscard]] bool silent(Time now, Time limit) const;
  // We were not awake for so long: what was not heard meanwhile is nobody's fault.
  void excuse(Time gap);

  [[nodiscard]] Time last_heard() const { return last_heard_; }
  // When due() or silent() may next say something. REQUIRES: watching().
  [[nodiscard]] Time next(Time limit) const;

  // A moment of the agent's clock (since the Unix epoch) as a Time of ours, to within half the
  // quickest round trip. Nothing before the first Pong.
  [[nodiscard]] std::optional<Time> ours(std::int64_t theirs_ns) const;

 private:
  std::optional<Time> next_ping_;
  Time last_heard_{};
  std::uint64_t number_ = 0;
  Time sent_{};  // the Ping `number_`
  std::optional<Time> quickest_;
  Time offset_{};  // their clock less ours
};

}  // namespace lockstep::launcher
