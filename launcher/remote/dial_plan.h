// Which hosts are called when: so many at once, again where it is worth it, and not for ever.
//
// An sshd lets in only so many connections before they have logged in (MaxStartups), and hosts may
// share one; so the number at once begins small, grows with success and halves when one is turned
// away, which then waits a random while. Pure: no process, no clock. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace lockstep::launcher {

class DialPlan {
 public:
  using Time = std::chrono::nanoseconds;

  static constexpr std::size_t kFewestAtOnce = 4, kFirstAtOnce = 8, kMostAtOnce = 64;
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{2'000};

  // `per_host`: from the first call to the answer. `seed`: of the pauses.
  DialPlan(std::size_t hosts, Time per_host, unsigned seed)
      : hosts_(hosts), per_host_(per_host), random_(seed) {}

  void want(std::size_t host, Time at);
  // The hosts to call now. Each is then being called until one of the three below.
  [[nodiscard]] std::vector<std::size_t> due(Time now);
  void answered(std::size_t host);
  void failed(std::size_t host);
  // Turned away for now: false where its time is over, and it has failed.
  [[nodiscard]] bool turned_away(std::size_t host, Time now);

  // Being called for longer than a host has.
  [[nodiscard]] std::vector<std::size_t> overdue(Time now) const;
  // When due() or overdue() may next name a host.
  [[nodiscard]] std::optional<Time> next() const;

 private:
  struct Host {
    enum class State { kIdle, kWaiting, kCalling } state = State::kIdle;
    Time at{};
    std::optional<Time> first_call;
    std::chrono::milliseconds pause = kFirstPause;
  };
  void leave(std::size_t host);

  std::vector<Host> hosts_;
  Time per_host_;
  std::mt19937 random_;
  std::size_t at_once_ = kFirstAtOnce;
  std::size_t calling_ = 0;
};

}  // namespace lockstep::launcher
