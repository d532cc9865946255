// Whether a job that failed is tried again.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>

namespace lockstep::launcher {

class RestartPolicy {
 public:
  // Attempts in a row that got no further, after which another one is hopeless.
  static constexpr std::uint32_t kHopeless = 3;

  enum class Cause { kFailure, kMembership };  // a worker's fault; a host that went or came
  enum class Progress { kNone, kMade };
  enum class Verdict { kRestart, kBudgetUsed, kNoProgress };

  explicit RestartPolicy(std::uint32_t max_restarts) : left_(max_restarts) {}

  // What follows the end of an attempt. A change of membership costs nothing of the budget, but an
  // attempt without progress is one, whatever ended it.
  [[nodiscard]] Verdict ended(Cause cause, Progress progress);

 private:
  std::uint32_t left_;
  std::uint32_t fruitless_ = 0;
};

}  // namespace lockstep::launcher
