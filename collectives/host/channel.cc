#include "collectives/host/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "collectives/communicator.h"
#include "collectives/rendezvous/secret.h"

namespace lockstep::collectives::host {
namespace {

constexpr std::size_t kLargestPacket = 65536;

[[noreturn]] void fail(std::string_view what) {
  throw CollectiveError(fmt::format("{} failed: {}", what, std::strerror(errno)));
}

std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The zero byte before the name says that it is not in the file system.
  std::memcpy(address.sun_path + 1, name.data(),
              std::min(name.size(), sizeof(address.sun_path) - 1));
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

Descriptor make_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) fail("socket(AF_UNIX)");
  return socket;
}

union ControlBytes {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

}  // namespace

Interrupt::Interrupt() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) fail("eventfd");
}

void Interrupt::raise(std::string_view reason) {
  {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
  }
  const std::uint64_t one = 1;
  // It can fail only when the counter is full, and then it can be read already.
  [[maybe_unused]] const ssize_t n = ::write(event_.get(), &one, sizeof(one));
}

std::string Interrupt::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void wait_readable(int descriptor, const Interrupt& interrupt, ChannelTime deadline,
                   std::string_view whom) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    std::array<pollfd, 2> polled{{{descriptor, POLLIN, 0}, {interrupt.descriptor(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(),
                             static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
    if (ready < 0 && errno != EINTR) fail("poll");
    // What a peer has said before it ended tells more than that it ended.
    if (ready > 0 && polled[0].revents != 0) return;
    if (ready > 0) throw CollectiveError(interrupt.reason());
    if (ready == 0 && left <= 0) {
      throw CollectiveError(fmt::format("the ranks of this host did not meet within {:.3g} s: {}",
                                        std::chrono::duration<double>(now - begin).count(), whom));
    }
  }
}

Channel::Channel(Descriptor socket, std::string peer)
    : socket_(std::move(socket)), peer_(std::move(peer)) {}

void Channel::send(std::string_view text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBytes control{};
  if (descriptor >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) fail(fmt::format("sending to {}", peer_));
}

void Channel::try_send(std::string_view text) noexcept {
  ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Channel::Packet Channel::receive(const Interrupt& interrupt, ChannelTime deadline) {
  wait_readable(socket_.get(), interrupt, deadline, peer_ + " is missing");
  Packet packet;
  packet.text.resize(kLargestPacket);
  iovec part{packet.text.data(), packet.text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBytes control{};
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    // A peer that ended without reading everything: what it had sent comes next.
  } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
  if (n < 0) fail(fmt::format("receiving from {}", peer_));
  if (n == 0) {
    const std::string reason = interrupt.reason();
    throw CollectiveError(reason.empty() ? fmt::format("{} has ended", peer_) : reason);
  }
  packet.text.resize(static_cast<std::size_t>(n));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof(int));
    packet.descriptor = Descriptor(number);
  }
  return packet;
}

Listener::Listener() : socket_(make_socket()), name_("lockstep-" + random_word()) {
  const auto [address, length] = address_of(name_);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) fail("bind");
  if (::listen(socket_.get(), SOMAXCONN) != 0) fail("listen");
}

Descriptor Listener::accept(const Interrupt& interrupt, ChannelTime deadline,
                            std::string_view whom) {
  while (true) {
    wait_readable(socket_.get(), interrupt, deadline, whom);
    Descriptor accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      fail("accept");
    }
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (::getsockopt(accepted.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
        credentials.uid == ::geteuid()) {
      return accepted;
    }
  }
}

Descriptor connect_to(const std::string& name) {
  Descriptor socket = make_socket();
  const auto [address, length] = address_of(name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    fail("connecting to rank 0 of this host (are the ranks in one network name space?)");
  }
  return socket;
}

std::string random_word() {
  const rendezvous::Secret random = rendezvous::generate_secret();
  std::string word;
  for (std::size_t i = 0; i < 16; ++i) {
    word += fmt::format("{:02x}", std::to_integer<unsigned>(random[i]));
  }
  return word;
}

}  // namespace lockstep::collectives::host
