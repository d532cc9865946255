#include "launcher/process/reactor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

std::uint64_t tag(int fd, std::uint32_t serial) {
  return static_cast<std::uint64_t>(serial) << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

Reactor::Reactor() : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {}

void Reactor::watch(int fd, std::uint32_t events, Handler handler) {
  const std::uint32_t serial = next_serial_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag(fd, serial);
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl(ADD)");
  watches_[fd] = {serial, std::make_shared<Handler>(std::move(handler))};
}

void Reactor::change(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag(fd, watches_.at(fd).serial);
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event), "epoll_ctl(MOD)");
}

void Reactor::forget(int fd) {
  if (watches_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Reactor::wait(std::optional<std::chrono::nanoseconds> timeout) {
  int milliseconds = -1;
  if (timeout) {
    constexpr std::chrono::milliseconds kZero{0}, kLongest{3'600'000};
    milliseconds = static_cast<int>(
        std::clamp(std::chrono::ceil<std::chrono::milliseconds>(*timeout), kZero, kLongest)
            .count());
  }
  std::array<epoll_event, 64> ready{};
  const int count =
      ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), milliseconds);
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  for (int i = 0; i < count; ++i) {
    const auto fd = static_cast<int>(ready[i].data.u64 & 0xffffffffU);
    const auto serial = static_cast<std::uint32_t>(ready[i].data.u64 >> 32);
    const auto found = watches_.find(fd);
    if (found == watches_.end() || found->second.serial != serial) continue;
    const std::shared_ptr<Handler> handler = found->second.handler;
    (*handler)(ready[i].events);
  }
}

}  // namespace lockstep::launcher
