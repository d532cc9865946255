// lockstep launch: start a job or a program on this host's workers and see it through.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>

#include "collectives/rendezvous/secret.h"
#include "engine/version.h"
#include "launcher/agent/binding.h"
#include "launcher/command/command.h"
#include "launcher/command/launch_hosts.h"
#include "launcher/command/launch_options.h"
#include "launcher/command/launch_task.h"
#include "launcher/coordinator/coordinator.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary_file.h"

namespace lockstep::launcher {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

runtime::metrics::RunStatus status_of(Status status) {
  switch (status) {
    case Status::kDone:
      return runtime::metrics::RunStatus::done;
    case Status::kFailed:
      return runtime::metrics::RunStatus::failed;
    case Status::kPreempted:
      return runtime::metrics::RunStatus::preempted;
    case Status::kInterrupted:
      return runtime::metrics::RunStatus::interrupted;
  }
  throw std::logic_error("unknown status");
}

// What the launcher knows of the end.
void note_end(runtime::metrics::Summary& summary, const Outcome& outcome) {
  using runtime::metrics::ExitSource;
  summary.status = status_of(outcome.status);
  summary.exit.emplace();
  summary.exit->code = outcome.code;
  summary.exit->source =
      outcome.source == launcher::ExitSource::kWorker ? ExitSource::worker : ExitSource::launcher;
  if (outcome.culprit) {
    if (outcome.culprit->rank) summary.exit->rank = *outcome.culprit->rank;
    summary.exit->host = outcome.culprit->host;
  }
  summary.ended = seconds_now();
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::string new_secret() {
  std::string secret;
  for (const std::byte byte : collectives::rendezvous::generate_secret()) {
    secret.push_back(static_cast<char>(byte));
  }
  return secret;
}

Launch make_launch(const LaunchOptions& options, const LaunchTask& task) {
  Launch launch;
  HostJob& job = launch.plan.job;
  job.file = task.file;
  job.program = task.kind == LaunchTask::Kind::kJob ? Program::kLockstep : Program::kUsers;
  job.args = task.args;
  for (char** entry = environ; *entry != nullptr; ++entry) job.environment.emplace_back(*entry);
  job.directory = std::filesystem::current_path();
  job.bind = *bind_named(options.bind);
  launch.shown_ranks = {options.log_ranks.begin(), options.log_ranks.end()};
  launch.plan.version = engine::version();
  launch.plan.grace = milliseconds_of(options.grace_s);
  launch.plan.connect = milliseconds_of(options.connect_s);
  launch.plan.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  if (options.verbose) launch.verbosity = Verbosity::kVerbose;
  if (task.kind == LaunchTask::Kind::kJob) {
    launch.lead = LeadLines::kBare;
    if (::isatty(STDOUT_FILENO) != 0) job.lead_output = LeadOutput::kAtOnce;
  }
  return launch;
}

}  // namespace

int run_launch(const std::vector<std::string>& args) {
  LaunchOptions options;
  if (const auto done = parse_launch_options(args, options)) return *done;
  constexpr double kLongest = 86'400;
  if (!(options.grace_s >= 0 && options.grace_s <= kLongest)) {
    throw UsageError(
        fmt::format("--grace {}: expected 0 to {} seconds", options.grace_s, kLongest));
  }
  const std::filesystem::path lockstep = std::filesystem::read_symlink("/proc/self/exe");
  const LaunchTask task = choose_task(options, lockstep);
  const LaunchHosts hosts = choose_hosts(options, task.kind);
  if (options.dry_run) {
    fmt::print("{}", host_map(hosts));
    return 0;
  }
  Launch launch = make_launch(options, task);
  add_hosts(hosts, options, lockstep.parent_path() / "lockstep-agent", launch);
  const std::uint32_t workers = hosts.placement.world;

  // Before anything has a thread, so that no thread takes a signal that is meant for us.
  const Signals signals{SIGINT,  SIGTERM, SIGHUP,  SIGCHLD, SIGPIPE,
                        SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
  try {
    const auto folder = runtime::metrics::RunFolder::create(options.runs, task.name);
    std::filesystem::create_directory(folder.path() / "log");
    runtime::metrics::Summary summary;
    summary.name = task.name;
    summary.run = folder.id();
    runtime::metrics::complete_summary(folder, summary);  // also where no trainer will fill it in
    launch.plan.job.run_id = folder.id();
    launch.plan.job.run_folder = folder.path();
    launch.plan.job.secret = new_secret();
    fmt::print(stderr, "lockstep: {} worker{}, run folder {}\n", workers, workers == 1 ? "" : "s",
               (std::filesystem::path(options.runs) / task.name / folder.id()).string());

    summary.started = seconds_now();
    const Outcome outcome = run_coordinator(launch, signals);
    summary.world = outcome.world != 0 ? outcome.world : workers;
    summary.restarts = outcome.restarts;
    note_end(summary, outcome);
    runtime::metrics::complete_summary(folder, summary);
    return outcome.code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kExitNotStarted;
  }
}

}  // namespace lockstep::launcher
