// lockstep-agent: what `lockstep launch` starts on every host. See agent.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#include "launcher/agent/agent.h"
#include "launcher/process/system_call.h"

namespace {

// `--silence MS`, on a host of its own: see AgentOptions.
std::optional<std::chrono::milliseconds> silence_of(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--silence") return std::nullopt;
  const std::string_view text(argv[2]);
  std::int64_t milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc() || end != text.data() + text.size() || milliseconds <= 0)
    return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

int main(int argc, char** argv) {
  using lockstep::launcher::checked;
  try {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
      fmt::print("lockstep-agent {}\n", LOCKSTEP_VERSION);
      return 0;
    }
    lockstep::launcher::open_standard_descriptors();
    const auto silence = silence_of(argc, argv);
    if ((argc != 1 && !silence) || ::isatty(STDIN_FILENO) != 0) {
      fmt::print(stderr, "error: lockstep-agent is started by `lockstep launch`, not by hand\n");
      return 2;
    }
    // The channel moves away from 0 and 1, so that nothing that prints can get into it.
    const lockstep::launcher::AgentOptions options{
        checked(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)"),
        checked(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)"),
        LOCKSTEP_VERSION, silence};
    const lockstep::launcher::UniqueFd nothing(
        checked(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    checked(::dup2(nothing.get(), STDIN_FILENO), "dup2");
    checked(::dup2(STDERR_FILENO, STDOUT_FILENO), "dup2");
    lockstep::launcher::run_agent(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: lockstep-agent: {}\n", error.what());
    return 1;
  }
}
