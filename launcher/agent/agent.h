// The agent of a host: starts its workers, carries their output, ends them.
//
// It speaks frames over two descriptors, so that it does not matter whether they lead to a
// launcher on this host or, through ssh, to another. Workers are started from the thread that
// runs it: they carry a parent-death signal, which fires when the thread that forked them ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "launcher/agent/guard.h"

namespace lockstep::launcher {

struct AgentOptions {
  int from_coordinator = -1;
  int to_coordinator = -1;
  std::string version;
  // A coordinator that says nothing for so long is lost; nothing: only the end of the channel
  // tells.
  std::optional<std::chrono::milliseconds> silence;
  // Whether to look at this host and tell NCCL what it needs.
  enum class Tune { kNo, kYes } tune = Tune::kNo;
};

// Runs until it is dismissed, or the coordinator is lost and nothing of the job is left here.
// REQUIRES: descriptors 0 to 2 are neither end of the channel.
void run_agent(const AgentOptions& options, GuardLink guard);

}  // namespace lockstep::launcher
