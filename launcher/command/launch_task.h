// What `lockstep launch` is to run on its workers: a job file or a program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/command/launch_options.h"

namespace lockstep::launcher {

struct LaunchTask {
  std::string name;  // of the run folder
  std::string file;
  std::vector<std::string> args;
  enum class Kind { kJob, kProgram } kind = Kind::kProgram;
};

// The job file is read here as well, so that a wrong one starts nothing. `lockstep`: this program.
// Throws UsageError.
[[nodiscard]] LaunchTask choose_task(const LaunchOptions& options,
                                     const std::filesystem::path& lockstep);

}  // namespace lockstep::launcher
