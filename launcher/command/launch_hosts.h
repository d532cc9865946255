// Where the workers of a `lockstep launch` run: the hosts, and how many workers each has.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/command/launch_options.h"
#include "launcher/command/launch_task.h"
#include "launcher/coordinator/agent_link.h"
#include "launcher/coordinator/coordinator.h"
#include "launcher/hosts/allocation.h"
#include "launcher/hosts/placement.h"

namespace lockstep::launcher {

struct LaunchHosts {
  Allocation allocation;
  Placement placement;
};

// By flags, the batch system's variables, or this machine. Prints what was noticed, and the number
// of workers where the user gave none. Throws UsageError.
[[nodiscard]] LaunchHosts choose_hosts(const LaunchOptions& options, LaunchTask::Kind kind);

// Adds to `launch` the hosts that have workers and the agents' commands. An agent is this machine's
// own child, or comes by srun or ssh. REQUIRES: launch.plan.job.environment. Throws UsageError.
void add_hosts(const LaunchHosts& hosts, const LaunchOptions& options,
               const std::filesystem::path& agent, Launch& launch);

// The map of --dry-run: a line a host.
[[nodiscard]] std::string host_map(const LaunchHosts& hosts);

}  // namespace lockstep::launcher
