// The command line of `lockstep launch`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher {

struct LaunchOptions {
  std::optional<std::int64_t> workers, per_host;
  std::optional<std::string> hosts, hostfile, hostfile_format, include, exclude;
  std::string bind = "none";
  std::vector<std::uint32_t> log_ranks;  // whose output is shown; empty: all
  bool oversubscribe = false;
  bool dry_run = false;
  std::string ssh = "ssh";  // the client and its flags
  std::int64_t max_restarts = 0;
  std::string nnodes;  // "N" or "MIN:MAX"; empty: all
  double connect_s = 10;
  double grace_s = 1;
  std::vector<std::string> settings;
  std::string plan;  // plan.json to follow; empty: none
  std::string runs = "runs";
  bool verbose = false;
  bool no_tune = false;
  std::vector<std::string> inputs;   // before "--": the job file
  std::vector<std::string> program;  // after it
};

// Fills `options`; an exit code where nothing is left to do (--help). Throws UsageError.
[[nodiscard]] std::optional<int> parse_launch_options(const std::vector<std::string>& args,
                                                      LaunchOptions& options);

}  // namespace lockstep::launcher
