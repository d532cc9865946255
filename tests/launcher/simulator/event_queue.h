// Virtual time: what happens, ordered by (time, sequence), and the chance that one seed gives.
//
// Thread rule: one thread. The same calls give the same order on every machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace lockstep::launcher::simulator {

using Time = std::chrono::nanoseconds;

class EventQueue {
 public:
  [[nodiscard]] Time now() const { return now_; }
  void at(Time when, std::function<void()> what) {
    events_.push({std::max(when, now_), sequence_++, std::move(what)});
  }
  void after(Time delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  [[nodiscard]] std::optional<Time> next() const {
    if (events_.empty()) return std::nullopt;
    return events_.top().when;
  }
  // REQUIRES: next() says something.
  void step() {
    std::function<void()> what = std::move(events_.top().what);
    now_ = events_.top().when;
    events_.pop();
    what();
  }

 private:
  struct Event {
    Time when;
    std::uint64_t sequence;
    mutable std::function<void()> what;  // moved out of the queue's top
    bool operator<(const Event& other) const {
      return std::pair(when, sequence) > std::pair(other.when, other.sequence);
    }
  };
  std::priority_queue<Event> events_;
  Time now_{};
  std::uint64_t sequence_ = 0;
};

// The standard's distributions differ between libraries; its engines do not.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  [[nodiscard]] bool percent(unsigned share) { return below(100) < share; }
  [[nodiscard]] Time between(Time least, Time most) {
    return least + Time(below(static_cast<std::uint64_t>((most - least).count()) + 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lockstep::launcher::simulator
