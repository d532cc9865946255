// The coordinator of a job: starts an agent a host, and sees the job through to its end.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/coordinator/coordinator_machine.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/coordinator/screen.h"
#include "launcher/process/signals.h"

namespace lockstep::launcher {

enum class Verbosity { kNormal, kVerbose };

struct Launch {
  JobPlan plan;
  std::filesystem::path agent;  // the program lockstep-agent
  LeadLines lead = LeadLines::kPrefixed;
  Verbosity verbosity = Verbosity::kNormal;
};

// Runs the job; returns when it is over, no process of it is left and its output is written. What
// the workers print goes to this process's standard output and error; a failure is reported there.
// Makes this process a child subreaper. Throws SpawnError where the agent cannot be started.
//
// Thread rule: call it from the main thread; `signals` blocks SIGINT, SIGTERM, SIGHUP, SIGCHLD and
// SIGPIPE and was made before any other thread.
[[nodiscard]] Outcome run_coordinator(const Launch& launch, const Signals& signals);

}  // namespace lockstep::launcher
