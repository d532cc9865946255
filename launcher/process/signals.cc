#include "launcher/process/signals.h"

#include <sys/signalfd.h>

#include <csignal>
#include <cstring>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : numbers) {
    struct sigaction action {};
    checked(::sigaction(number, nullptr, &action), "sigaction");
    if (action.sa_handler == SIG_IGN && number != SIGCHLD && number != SIGPIPE) continue;
    if (action.sa_handler == SIG_IGN && number == SIGCHLD) {
      // With SIGCHLD ignored the kernel reaps children itself and their exit codes are lost.
      action.sa_handler = SIG_DFL;
      checked(::sigaction(number, &action, nullptr), "sigaction");
    }
    ::sigaddset(&wanted, number);
  }
  checked(::sigprocmask(SIG_BLOCK, &wanted, nullptr), "sigprocmask");
  fd_ = UniqueFd(checked(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"));
}

std::optional<int> Signals::next() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace lockstep::launcher
