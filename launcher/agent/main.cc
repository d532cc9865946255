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
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "launcher/agent/agent.h"
#include "launcher/agent/guard.h"
#include "launcher/process/system_call.h"

namespace {

struct Flags {
  // `--silence MS`, on another host than the launcher's: see AgentOptions.
  std::optional<std::chrono::milliseconds> silence;
  // `--guard-silence MS`, for tests: how long an agent may be silent until its guard ends it.
  std::optional<std::chrono::milliseconds> guard_silence;
  using Tune = lockstep::launcher::AgentOptions::Tune;
  Tune tune = Tune::kNo;  // `--tune`
};

// Nothing where there are others.
std::optional<Flags> flags_of(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; i += 2) {
    if (std::string_view(argv[i]) == "--tune") {
      flags.tune = Flags::Tune::kYes;
      --i;
      continue;
    }
    const std::string_view name(argv[i]), text(i + 1 < argc ? argv[i + 1] : "");
    std::int64_t milliseconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    if (error != std::errc() || end != text.data() + text.size() || milliseconds <= 0) return {};
    if (name == "--silence") {
      flags.silence = std::chrono::milliseconds(milliseconds);
    } else if (name == "--guard-silence") {
      flags.guard_silence = std::chrono::milliseconds(milliseconds);
    } else {
      return {};
    }
  }
  return flags;
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
    const auto flags = flags_of(argc, argv);
    if (!flags || ::isatty(STDIN_FILENO) != 0) {
      fmt::print(stderr, "error: lockstep-agent is started by `lockstep launch`, not by hand\n");
      return 2;
    }
    lockstep::launcher::GuardPlan plan{.program_name = argv[0]};
    if (flags->guard_silence) plan.silence = *flags->guard_silence;
    lockstep::launcher::GuardLink guard = lockstep::launcher::start_guard(plan);
    // The channel moves away from 0 and 1, so that nothing that prints can get into it.
    const lockstep::launcher::AgentOptions options{
        checked(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)"),
        checked(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "fcntl(F_DUPFD_CLOEXEC)"),
        LOCKSTEP_VERSION, flags->silence, flags->tune};
    const lockstep::launcher::UniqueFd nothing(
        checked(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    checked(::dup2(nothing.get(), STDIN_FILENO), "dup2");
    checked(::dup2(STDERR_FILENO, STDOUT_FILENO), "dup2");
    lockstep::launcher::run_agent(options, std::move(guard));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: lockstep-agent: {}\n", error.what());
    return 1;
  }
}
