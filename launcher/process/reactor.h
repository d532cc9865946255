// One thread's wait for descriptors (epoll).
//
// Descriptors that become ready are handled in the order in which they did: that is how the agent
// knows which of two workers died first, since the kernel keeps no time of death.
// Thread rule: one thread. A handler may watch and forget any descriptor, its own included.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

class Reactor {
 public:
  using Handler = std::function<void(std::uint32_t events)>;  // EPOLLIN, EPOLLOUT, ...

  Reactor();

  // REQUIRES: `fd` is not watched, can be polled, and stays open until forget().
  void watch(int fd, std::uint32_t events, Handler handler);
  void change(int fd, std::uint32_t events);
  void forget(int fd);
  [[nodiscard]] bool watches(int fd) const { return watches_.contains(fd); }

  // Waits until something is ready or `timeout` has passed (nullopt: no limit); runs the handlers.
  void wait(std::optional<std::chrono::nanoseconds> timeout);

 private:
  struct Watch {
    std::uint32_t serial;  // tells a number that was closed and reused from the one that was ready
    std::shared_ptr<Handler> handler;
  };
  UniqueFd epoll_;
  std::unordered_map<int, Watch> watches_;
  std::uint32_t next_serial_ = 0;
};

}  // namespace lockstep::launcher
