// The coordinator of a job: starts an agent a host, and sees the job through to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/coordinator/agent_link.h"
#include "launcher/coordinator/coordinator_machine.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/coordinator/screen.h"
#include "launcher/process/signals.h"

namespace lockstep::launcher {

enum class Verbosity { kNormal, kVerbose };

struct Launch {
  JobPlan plan;
  std::vector<AgentCommand> agents;  // one a host of the plan
  std::string ssh = "ssh";           // the client in those, for messages
  // SIGTERM is a batch system's notice, after which workers have so long; nothing: it interrupts.
  std::optional<std::chrono::milliseconds> preemption_grace;
  LeadLines lead = LeadLines::kPrefixed;
  std::set<std::uint32_t> shown_ranks = {};  // whose output is shown; empty: all
  Verbosity verbosity = Verbosity::kNormal;
};

// Runs the job; returns when it is over, no process of it is left and its output is written. What
// the workers print goes to this process's standard output and error; a failure is reported there.
// Makes this process a child subreaper. Throws std::system_error where the system fails us.
//
// Thread rule: call it from the main thread; `signals` blocks kLauncherSignals and was made before
// any other thread.
[[nodiscard]] Outcome run_coordinator(const Launch& launch, const Signals& signals);

}  // namespace lockstep::launcher
