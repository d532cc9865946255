// Waiting for a condition that another process makes true.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>

namespace lockstep::launcher {

inline constexpr std::chrono::seconds kPatience{60};  // a hang, not a slow machine

// Waits until the condition holds; false where it did not within `limit`.
[[nodiscard]] inline bool eventually(const std::function<bool()>& condition,
                                     std::chrono::milliseconds limit = kPatience) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace lockstep::launcher
