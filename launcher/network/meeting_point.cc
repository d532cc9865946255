#include "launcher/network/meeting_point.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "launcher/network/host_addresses.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

constexpr int kWaiting = 128;  // connections that may wait to be greeted

// A socket address of either family; its size is 0 where the text is none.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  SocketAddress(const std::string& text, std::uint16_t port) {
    auto& four = reinterpret_cast<sockaddr_in&>(bytes);
    auto& six = reinterpret_cast<sockaddr_in6&>(bytes);
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
      four.sin_family = AF_INET;
      four.sin_port = htons(port);
      size = sizeof four;
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(port);
      size = sizeof six;
    }
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// The interface of this host that has the socket's own address.
std::string interface_of(int socket) {
  SocketAddress own("0.0.0.0", 0);
  own.size = sizeof own.bytes;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own.bytes), &own.size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address =
      own.bytes.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(own.bytes).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(own.bytes).sin6_addr;
  ::inet_ntop(own.bytes.ss_family, address, text.data(), text.size());
  const auto all = interface_addresses();
  const auto found = std::ranges::find(all, std::string(text.data()), &InterfaceAddress::address);
  return found == all.end() ? std::string() : found->interface;
}

}  // namespace

MeetingPoint::MeetingPoint(Reactor& reactor, std::string token)
    : reactor_(reactor), token_(std::move(token)) {
  constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  socket_ = UniqueFd(::socket(AF_INET6, kKind, 0));
  const bool six = socket_.valid();
  if (six) {
    const int off = 0;
    checked(::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off), "setsockopt");
  } else {  // a kernel without IPv6
    socket_ = UniqueFd(checked(::socket(AF_INET, kKind, 0), "socket"));
  }
  SocketAddress any(six ? "::" : "0.0.0.0", 0);
  checked(::bind(socket_.get(), any.get(), any.size), "bind");
  checked(::listen(socket_.get(), kWaiting), "listen");
  checked(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any.bytes), &any.size),
          "getsockname");
  // The port lies at the same place in both families.
  port_ = ntohs(reinterpret_cast<const sockaddr_in&>(any.bytes).sin_port);
  reactor_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) {
    while (true) {
      const UniqueFd caller(
          ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!caller.valid()) return;
      // A short text fits into any socket's buffer; where it does not, that address is not reached.
      (void)::send(caller.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
    }
  });
}

MeetingPoint::~MeetingPoint() {
  reactor_.forget(socket_.get());
}

ReachTest::ReachTest(Reactor& reactor, Question question, Done done)
    : reactor_(reactor),
      question_(std::move(question)),
      done_(std::move(done)),
      timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd")) {
  reactor_.watch(timer_.get(), EPOLLIN, [this](std::uint32_t) { finish(); });
  for (const std::string& address : question_.addresses) {
    begin(tries_.emplace_back(Try{address, {}, {}, false, {}}));
  }
  // Never from within the constructor.
  finish_after(open_ == 0 ? std::chrono::milliseconds(0) : question_.limit);
}

ReachTest::~ReachTest() {
  for (Try& attempt : tries_) {
    if (attempt.socket.valid()) reactor_.forget(attempt.socket.get());
  }
  reactor_.forget(timer_.get());
}

void ReachTest::begin(Try& attempt) {
  const SocketAddress to(attempt.address, question_.port);
  if (to.size == 0) return;
  attempt.socket =
      UniqueFd(::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!attempt.socket.valid()) return;
  if (::connect(attempt.socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) {
    attempt.socket.reset();
    return;
  }
  ++open_;
  reactor_.watch(attempt.socket.get(), EPOLLIN, [this, &attempt](std::uint32_t) { read(attempt); });
}

void ReachTest::read(Try& attempt) {
  std::array<char, 256> buffer;
  const ssize_t count = ::read(attempt.socket.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) {
    attempt.heard.append(buffer.data(), static_cast<std::size_t>(count));
    if (attempt.heard.size() < question_.token.size()) return;
    attempt.right = attempt.heard == question_.token;
    if (attempt.right) attempt.interface = interface_of(attempt.socket.get());
    if (attempt.right && !std::exchange(answered_, true)) finish_after(kMore);
  }
  end(attempt);
}

void ReachTest::end(Try& attempt) {
  reactor_.forget(attempt.socket.get());
  attempt.socket.reset();
  if (--open_ == 0) finish();
}

void ReachTest::finish_after(std::chrono::milliseconds delay) {
  itimerspec when{};
  when.it_value.tv_sec = delay.count() / 1000;
  when.it_value.tv_nsec = std::max<long>(delay.count() % 1000 * 1'000'000, 1);  // 0 would disarm it
  checked(::timerfd_settime(timer_.get(), 0, &when, nullptr), "timerfd_settime");
}

void ReachTest::finish() {
  std::vector<ReachedAddress> reached;
  for (const Try& attempt : tries_) {
    if (attempt.right) reached.push_back({attempt.address, attempt.interface});
  }
  const Done done = std::move(done_);
  done(std::move(reached));
}

}  // namespace lockstep::launcher
