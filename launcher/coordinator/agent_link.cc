#include "launcher/coordinator/agent_link.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

constexpr std::size_t kKeptNoise = std::size_t{64} << 10;

void keep_end(std::string& text) {
  if (text.size() > 2 * kKeptNoise) text.erase(0, text.size() - kKeptNoise);
}

}  // namespace

AgentLink::AgentLink(Reactor& reactor, const AgentCommand& command, Handlers handlers)
    : reactor_(reactor),
      handlers_(std::move(handlers)),
      nonce_(command.nonce),
      reached_(command.nonce.empty()) {
  Pipe to = make_pipe(), from = make_pipe(), errors;
  ProcessPlan plan;
  plan.file = command.file;
  plan.args = command.args;
  plan.environment = command.environment;
  plan.in = to.read.get();
  plan.out = from.write.get();
  if (!reached_) {
    errors = make_pipe();
    plan.err = errors.write.get();
  }
  // An agent has to clean up after us; what carries one to another host ends with its channel.
  plan.parting = reached_ ? Parting::kOutlivesParent : Parting::kDiesWithParent;
  process_ = spawn(plan);
  to_agent_ = std::move(to.write);
  from_agent_ = std::move(from.read);
  errors_ = std::move(errors.read);
  set_nonblocking(to_agent_.get());
  set_nonblocking(from_agent_.get());
  reactor_.watch(from_agent_.get(), EPOLLIN, [this](std::uint32_t) {
    if (!read()) reactor_.forget(from_agent_.get());
  });
  if (errors_.valid()) {
    set_nonblocking(errors_.get());
    reactor_.watch(errors_.get(), EPOLLIN, [this](std::uint32_t) { read_errors(); });
  }
  reactor_.watch(process_.pidfd.get(), EPOLLIN, [this](std::uint32_t) { conclude(); });
}

AgentLink::~AgentLink() {
  for (const UniqueFd* fd : {&to_agent_, &from_agent_, &errors_, &process_.pidfd}) {
    if (fd->valid()) reactor_.forget(fd->get());
  }
  if (!process_.pidfd.valid()) return;
  ::kill(process_.pid, SIGKILL);
  ::waitpid(process_.pid, nullptr, 0);
}

void AgentLink::abandon() {
  abandoned_ = true;
  if (process_.pidfd.valid()) ::kill(process_.pid, SIGKILL);
}

void AgentLink::send(const Message& message) {
  unsent_ += frame(encode(message));
  write();
}

void AgentLink::write() {
  const int fd = to_agent_.get();
  while (to_agent_.valid() && !unsent_.empty()) {
    const ssize_t count = ::write(fd, unsent_.data(), unsent_.size());
    if (count > 0) {
      unsent_.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!reactor_.watches(fd)) {
        reactor_.watch(fd, EPOLLOUT, [this](std::uint32_t) { write(); });
      }
      return;
    } else if (errno != EINTR) {
      unsent_.clear();  // its end is reported by its pidfd
    }
  }
  reactor_.forget(fd);
}

bool AgentLink::read() {
  std::array<char, std::size_t{64} << 10> buffer;
  const ssize_t count = ::read(from_agent_.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) return false;
  take({buffer.data(), static_cast<std::size_t>(count)});
  return nonsense_.empty();
}

void AgentLink::take(std::string_view bytes) {
  if (!reached_) {
    const std::string mark = nonce_ + "\n";
    noise_ += bytes;
    const std::size_t begin = noise_.find(mark);
    if (begin == std::string::npos) {
      keep_end(noise_);
      return;
    }
    reached_ = true;
    const std::string rest = noise_.substr(begin + mark.size());
    noise_.resize(begin);
    if (!rest.empty()) take(rest);
    return;
  }
  try {
    parser_.add(bytes);
    while (const auto body = parser_.next()) {
      if (abandoned_) return;
      handlers_.message(decode(*body));
    }
  } catch (const ProtocolError& error) {
    nonsense_ = error.what();
    ::kill(process_.pid, SIGKILL);
  }
}

void AgentLink::read_errors() {
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = ::read(errors_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) reactor_.forget(errors_.get());
    if (count <= 0) return;
    said_.append(buffer.data(), static_cast<std::size_t>(count));
    keep_end(said_);
  }
}

void AgentLink::conclude() {
  // Its last words may still lie in the pipes. What else holds the other end (a connection that ssh
  // shares between sessions) is not waited for.
  if (reactor_.watches(from_agent_.get())) {
    while (true) {
      std::array<char, std::size_t{64} << 10> buffer;
      const ssize_t count = ::read(from_agent_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      take({buffer.data(), static_cast<std::size_t>(count)});
    }
  }
  if (errors_.valid() && reactor_.watches(errors_.get())) read_errors();
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(process_.pid), &info, WEXITED);
  reactor_.forget(process_.pidfd.get());
  process_.pidfd.reset();
  LinkEnd end{.reached = reached_, .said = said_, .nonsense = nonsense_};
  (info.si_code == CLD_EXITED ? end.code : end.signal) = info.si_status;
  const auto handler = handlers_.end;
  if (!abandoned_) handler(end);
}

}  // namespace lockstep::launcher
