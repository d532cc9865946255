// lockstep launch: start a job or a program on this host's workers and see it through.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "collectives/rendezvous/secret.h"
#include "engine/version.h"
#include "launcher/command/command.h"
#include "launcher/command/launch_options.h"
#include "launcher/command/launch_task.h"
#include "launcher/command/launch_tuning.h"
#include "launcher/coordinator/coordinator.h"
#include "launcher/program_search.h"
#include "launcher/remote/host_list.h"
#include "launcher/remote/ssh_command.h"
#include "launcher/visible_gpus.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary_file.h"

namespace lockstep::launcher {
namespace {

// On one host.
std::uint32_t choose_workers(const LaunchOptions& options, LaunchTask::Kind kind) {
  constexpr std::int64_t kMost = 1 << 16;
  for (const auto& given : {options.workers, options.per_host}) {
    if (given && (*given < 1 || *given > kMost)) {
      throw UsageError(fmt::format("{} workers: expected 1 to {}", *given, kMost));
    }
  }
  if (options.workers && options.per_host && *options.workers != *options.per_host) {
    throw UsageError(fmt::format("-n {} and --per-host {} differ, and there is one host",
                                 *options.workers, *options.per_host));
  }
  if (options.workers) return static_cast<std::uint32_t>(*options.workers);
  if (options.per_host) return static_cast<std::uint32_t>(*options.per_host);
  if (kind == LaunchTask::Kind::kJob) {
    fmt::print(stderr, "lockstep: 1 worker (-n gives another number)\n");
    return 1;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::uint32_t gpus = visible_gpus(
      visible != nullptr ? std::optional<std::string_view>(visible) : std::nullopt, "/dev");
  fmt::print(stderr, "lockstep: {} worker{} ({}; -n gives another number)\n", std::max(gpus, 1U),
             gpus > 1 ? "s" : "", gpus == 0 ? "no GPU is visible" : "one a visible GPU");
  return std::max(gpus, 1U);
}

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

// The advice joins the workers' environment. A host that cannot be read is no reason not to start.
void tune(HostProbe& probe, const LaunchOptions& options, const std::filesystem::path& folder,
          std::vector<std::string>& environment) {
  try {
    const Tuning tuning = probe.finish(folder);
    environment.insert(environment.end(), tuning.environment.begin(), tuning.environment.end());
    fmt::print(stderr, "lockstep: probe {} ms, {} NCCL setting{}\n", tuning.probe.count(),
               tuning.environment.size(), tuning.environment.size() == 1 ? "" : "s");
    if (options.verbose) fmt::print(stderr, "{}", tuning.explanation);
  } catch (const std::exception& error) {
    fmt::print(stderr, "warning: NCCL is left to itself: {}\n", error.what());
  }
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

// "N" or "MIN:MAX".
void choose_host_counts(const LaunchOptions& options, JobPlan& plan) {
  if (options.nnodes.empty()) return;
  const std::size_t colon = options.nnodes.find(':');
  const std::string least = options.nnodes.substr(0, colon);
  const std::string most = colon == std::string::npos ? least : options.nnodes.substr(colon + 1);
  const auto number = [&options](const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) {
      throw UsageError(fmt::format("--nnodes {}: expected N or MIN:MAX, whole numbers from 1 on",
                                   options.nnodes));
    }
    return value;
  };
  plan.least_hosts = number(least);
  plan.most_hosts = number(most);
  if (plan.least_hosts > plan.most_hosts || plan.least_hosts > plan.hosts.size()) {
    throw UsageError(
        fmt::format("--nnodes {}: at least {} hosts are needed and at most {}, and "
                    "there {} {}",
                    options.nnodes, plan.least_hosts, plan.most_hosts,
                    plan.hosts.size() == 1 ? "is" : "are", plan.hosts.size()));
  }
}

AgentCommand local_agent(const std::filesystem::path& agent, const HostJob& job) {
  return {.file = agent, .args = {"lockstep-agent"}, .environment = job.environment, .nonce = {}};
}

AgentCommand remote_agent(const LaunchOptions& options, const std::string& host,
                          const std::filesystem::path& agent, const HostJob& job) {
  const RemoteProgram program{agent, "lockstep-agent", {"--silence", "10000"}};
  AgentCommand command;
  command.nonce = make_nonce();
  command.args = ssh_command(options.ssh, host, program, command.nonce,
                             std::chrono::seconds(std::llround(std::ceil(options.connect_s))));
  const char* path = std::getenv("PATH");
  try {
    command.file = find_program(command.args.front(), path != nullptr ? path : "/bin:/usr/bin");
  } catch (const ProgramNotFound& error) {
    throw UsageError(error.what());
  }
  command.environment = job.environment;
  return command;
}

Launch make_launch(const LaunchOptions& options, const LaunchTask& task,
                   const std::filesystem::path& agent) {
  Launch launch;
  launch.ssh = options.ssh;
  HostJob& job = launch.plan.job;
  job.file = task.file;
  job.program = task.kind == LaunchTask::Kind::kJob ? Program::kLockstep : Program::kUsers;
  job.args = task.args;
  for (char** entry = environ; *entry != nullptr; ++entry) job.environment.emplace_back(*entry);
  job.directory = std::filesystem::current_path();
  launch.plan.version = engine::version();
  launch.plan.grace = milliseconds_of(options.grace_s);
  launch.plan.connect = milliseconds_of(options.connect_s);
  launch.plan.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  if (options.verbose) launch.verbosity = Verbosity::kVerbose;
  if (task.kind == LaunchTask::Kind::kJob) {
    launch.lead = LeadLines::kBare;
    if (::isatty(STDOUT_FILENO) != 0) job.lead_output = LeadOutput::kAtOnce;
  }
  if (options.hosts.empty()) {
    launch.plan.hosts = {{.workers = choose_workers(options, task.kind)}};
    launch.agents = {local_agent(agent, job)};
  } else {
    for (const std::string& host : hosts_of(options.hosts)) {
      launch.plan.hosts.push_back(
          {.name = host, .workers = static_cast<std::uint32_t>(options.per_host.value_or(1))});
      launch.agents.push_back(remote_agent(options, host, agent, job));
    }
  }
  choose_host_counts(options, launch.plan);
  return launch;
}

std::uint32_t world_of(const JobPlan& plan) {
  std::uint32_t world = 0;
  for (const PlannedHost& host : plan.hosts) world += host.workers;
  return world;
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
  Launch launch = make_launch(options, task, lockstep.parent_path() / "lockstep-agent");
  const std::uint32_t workers = world_of(launch.plan);

  // Before anything has a thread, so that no thread takes a signal that is meant for us.
  const Signals signals{SIGINT,  SIGTERM, SIGHUP,  SIGCHLD, SIGPIPE,
                        SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
  try {
    std::optional<HostProbe> probe;
    if (!options.no_tune && launch.plan.hosts.size() == 1) probe.emplace();
    const auto folder = runtime::metrics::RunFolder::create(options.runs, task.name);
    std::filesystem::create_directory(folder.path() / "log");
    runtime::metrics::Summary summary;
    summary.name = task.name;
    summary.run = folder.id();
    runtime::metrics::complete_summary(folder, summary);  // also where no trainer will fill it in
    launch.plan.job.run_id = folder.id();
    launch.plan.job.run_folder = folder.path();
    launch.plan.job.secret = new_secret();
    if (probe) tune(*probe, options, folder.path(), launch.plan.job.environment);
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
