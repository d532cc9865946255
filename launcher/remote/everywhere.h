// Runs one program on many hosts at once by ssh and gathers what each prints.
//
// For short questions ("what is there?"), not for jobs: nothing is watched after the deadline, when
// whatever has not ended is killed on this side, and by the lost connection on the other. Thread
// rule: call it from one thread, which lives until it returns; blocks up to the deadline. Cost: a
// process and two pipes a host, at most `at_once` of them at a time; output of at most kMostOutput
// a host.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/remote/ssh_command.h"

namespace lockstep::launcher {

constexpr std::size_t kMostOutput = std::size_t{16} << 20;

struct RemoteOptions {
  std::string client = "ssh";         // and its flags, split at blanks
  std::chrono::seconds deadline{20};  // for a host, from the start of its connection
  std::size_t at_once = 64;           // connections
};

struct RemoteResult {
  std::string host;
  std::optional<std::string> output;  // all that was printed after the nonce; empty where it failed
  std::string failure;                // why, in one sentence
};

// Results are in the order of `hosts`. Errors: std::system_error or SpawnError where this host
// cannot start processes.
[[nodiscard]] std::vector<RemoteResult> run_everywhere(const std::vector<std::string>& hosts,
                                                       const RemoteProgram& program,
                                                       const RemoteOptions& options);

}  // namespace lockstep::launcher
