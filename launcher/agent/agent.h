// The agent of a host: starts its workers, carries their output, ends them.
//
// It speaks frames over two descriptors, so that it does not matter whether they lead to a
// launcher on this host or, through ssh, to another. Single-threaded: workers carry a parent-death
// signal, which fires when the thread that forked them ends.
#pragma once

#include <string>

#include "launcher/agent/guard.h"

namespace lockstep::launcher {

struct AgentChannel {
  int from_coordinator;
  int to_coordinator;
};

// Runs until the job is gone from this host; also when the coordinator is, by end of file.
// REQUIRES: the process has one thread, and descriptors 0 to 2 are neither end of the channel.
void run_agent(const AgentChannel& channel, const std::string& version, GuardLink guard);

}  // namespace lockstep::launcher
