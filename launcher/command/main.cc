// lockstep: the command line.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "engine/version.h"
#include "launcher/command/command.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

constexpr std::array kCommands{
    Command{"launch", "start a training job, or any program, on several workers", run_launch},
    Command{"train", "train a job as one worker", run_train},
    Command{"probe", "show what hosts look like, and what is wrong with them", run_probe},
    Command{"tune", "say which NCCL settings hosts need, and why", run_tune},
};

std::string help() {
  std::string text =
      "lockstep trains neural networks on many workers, and starts the jobs that do it.\n\n"
      "usage: lockstep COMMAND [ARGS...]\n"
      "       lockstep --help | --version\n\ncommands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  return text +
         "\n`lockstep COMMAND --help` explains a command.\n"
         "example: lockstep launch -n 2 job.json\n";
}

int run(const std::vector<std::string>& args) {
  if (args.empty()) {
    fmt::print(stderr, "{}", help());
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    fmt::print("{}", help());
    return 0;
  }
  if (args[0] == "--version") {
    fmt::print("lockstep {}\n", engine::version());
    return 0;
  }
  const auto found = std::ranges::find(kCommands, args[0], &Command::name);
  if (found != kCommands.end()) return found->run({args.begin() + 1, args.end()});

  std::vector<std::string_view> names{"--help", "--version"};
  for (const Command& command : kCommands) names.push_back(command.name);
  const auto other = meant_by(args[0], names);
  throw UsageError(fmt::format("unknown {} '{}'{}\n  `lockstep --help` shows what there is",
                               args[0].starts_with('-') ? "flag" : "command", args[0],
                               other ? fmt::format("; did you mean '{}'?", *other) : ""));
}

}  // namespace
}  // namespace lockstep::launcher

int main(int argc, char** argv) {
  try {
    lockstep::launcher::open_standard_descriptors();
    return lockstep::launcher::run({argv + std::min(argc, 1), argv + argc});
  } catch (const lockstep::launcher::UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return lockstep::launcher::kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
