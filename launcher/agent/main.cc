// lockstep-agent: what `lockstep launch` starts on every host. See agent.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/agent/agent.h"
#include "launcher/agent/guard.h"
#include "launcher/process/system_call.h"

int main(int argc, char** argv) {
  using lockstep::launcher::checked;
  try {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
      fmt::print("lockstep-agent {}\n", LOCKSTEP_VERSION);
      return 0;
    }
    lockstep::launcher::open_standard_descriptors();
    lockstep::launcher::GuardPlan plan{.program_name = argv[0]};
    int next = 1;
    // For tests: how long an agent may be silent until its guard ends it.
    if (argc == 3 && std::string_view(argv[1]) == "--silence-ms") {
      plan.silence = std::chrono::milliseconds(std::stol(argv[2]));
      next = 3;
    }
    if (argc != next || ::isatty(STDIN_FILENO) != 0) {
      fmt::print(stderr, "error: lockstep-agent is started by `lockstep launch`, not by hand\n");
      return 2;
    }
    lockstep::launcher::GuardLink guard = lockstep::launcher::start_guard(plan);
    // The channel moves away from 0 and 1, so that nothing that prints can get into it.
    const lockstep::launcher::AgentChannel channel{
        checked(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)"),
        checked(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)")};
    const lockstep::launcher::UniqueFd nothing(
        checked(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    checked(::dup2(nothing.get(), STDIN_FILENO), "dup2");
    checked(::dup2(STDERR_FILENO, STDOUT_FILENO), "dup2");
    lockstep::launcher::run_agent(channel, LOCKSTEP_VERSION, std::move(guard));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: lockstep-agent: {}\n", error.what());
    return 1;
  }
}
