// lockstep launch: start a job or a program on this host's workers and see it through.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "engine/version.h"
#include "launcher/command/command.h"
#include "launcher/command/launch_tuning.h"
#include "launcher/coordinator/coordinator.h"
#include "launcher/program_search.h"
#include "launcher/store_host.h"
#include "launcher/visible_gpus.h"
#include "runtime/job.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary_file.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kExamples =
    "examples:\n"
    "  lockstep launch -n 2 job.json\n"
    "  lockstep launch -n 2 --set data.batch=64 job.json\n"
    "  lockstep launch -n 4 -- python3 train.py --epochs 3\n\n"
    "exit code: 0 done; 2 wrong usage; 125 a worker could not be started; 130 interrupted;\n"
    "else that of the first worker that failed (128+signal).\n";

struct Options {
  std::optional<std::int64_t> workers, per_host;
  std::vector<std::string> settings;
  std::string plan;  // plan.json to follow; empty: none
  std::string runs = "runs";
  double grace_s = 1;
  bool verbose = false;
  bool no_tune = false;
  std::vector<std::string> inputs;   // before "--": the job file
  std::vector<std::string> program;  // after it
};

// What the workers run.
struct Task {
  std::string name;
  std::string file;
  std::vector<std::string> args;
  enum class Kind { kJob, kProgram } kind = Kind::kProgram;
};

std::optional<int> parse(const std::vector<std::string>& args, Options& options) {
  // What follows "--" is the program's own and never seen by a parser of ours.
  const auto dashes = std::ranges::find(args, "--");
  if (dashes != args.end()) options.program.assign(dashes + 1, args.end());

  CLI::App app(
      "Starts workers, gives each its place, carries their output, and ends all when one fails.\n"
      "What to run is a job file, or any program after '--':\n"
      "  lockstep launch [FLAGS] JOB.json\n"
      "  lockstep launch [FLAGS] -- PROGRAM [ARGS...]",
      "lockstep launch");
  app.footer(std::string(kExamples));
  app.add_option("JOB", options.inputs, "the job file");
  app.add_option("-n", options.workers,
                 "workers in all (default: 1 for a job; for a program the visible GPUs, else 1)")
      ->type_name("N");
  app.add_option("--per-host,--nproc-per-node", options.per_host, "workers a host")->type_name("K");
  app.add_option("--set", options.settings, "override a key of the job file; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--plan", options.plan,
                 "a job: follow this plan.json of an earlier run: the same kernels, the same bits")
      ->type_name("FILE");
  app.add_option("--runs", options.runs, "where run folders are made (default: runs)")
      ->type_name("DIR");
  app.add_option("--grace", options.grace_s,
                 "seconds between SIGTERM and SIGKILL when workers are ended (default: 1; at an "
                 "interrupt at most 1)")
      ->type_name("S");
  app.add_flag(
      "--no-tune", options.no_tune,
      "do not look at the host, and leave NCCL's settings alone (`lockstep tune` shows them)");
  app.add_flag("--verbose", options.verbose, "say what is started, and with what");
  if (const auto done = parse_command_line(app, {args.begin(), dashes})) return done;
  if (dashes != args.end() && options.program.empty()) {
    throw UsageError("no program after '--'");
  }
  return std::nullopt;
}

// The job is read here as well, so that a wrong one starts nothing.
Task job_task(const Options& options, const std::filesystem::path& lockstep) {
  const std::string& job = options.inputs.front();
  Task task{
      .name = {}, .file = lockstep, .args = {"lockstep", "train", job}, .kind = Task::Kind::kJob};
  try {
    task.name = runtime::load_job(job, options.settings).name;
  } catch (const runtime::JobError& error) {
    throw UsageError(error.what());
  }
  for (const std::string& setting : options.settings) {
    task.args.insert(task.args.end(), {"--set", setting});
  }
  if (!options.plan.empty()) task.args.insert(task.args.end(), {"--plan", options.plan});
  if (!runtime::metrics::is_run_name(task.name)) {
    throw UsageError(
        fmt::format("the job's name '{}' cannot name a folder: it must be a plain file "
                    "name that does not begin with '.'",
                    task.name));
  }
  return task;
}

Task program_task(const Options& options) {
  if (!options.plan.empty()) {
    throw UsageError("--plan is a job's; a program takes its own arguments");
  }
  if (!options.settings.empty()) {
    throw UsageError("--set changes a job file; a program takes its own arguments");
  }
  const std::string& program = options.program.front();
  const char* path = std::getenv("PATH");
  Task task;
  try {
    task.file =
        std::filesystem::absolute(find_program(program, path != nullptr ? path : "/bin:/usr/bin"));
  } catch (const ProgramNotFound& error) {
    throw UsageError(error.what());
  }
  task.args = options.program;
  task.name = std::filesystem::path(program).filename().string();
  if (!runtime::metrics::is_run_name(task.name)) task.name = "program";
  return task;
}

Task choose_task(const Options& options, const std::filesystem::path& lockstep) {
  if (options.inputs.empty() && options.program.empty()) {
    throw UsageError(
        "nothing to start: give a job file, or a program after '--'\n"
        "  lockstep launch -n 2 job.json\n"
        "  lockstep launch -n 2 -- python3 train.py");
  }
  if (!options.inputs.empty() && !options.program.empty()) {
    throw UsageError(fmt::format("both a job file ('{}') and a program ('{}'): give one of them",
                                 options.inputs.front(), options.program.front()));
  }
  if (options.inputs.size() > 1) {
    throw UsageError(
        fmt::format("one job file was expected, found '{}' and '{}'; to start a program "
                    "write '--' before it:\n  lockstep launch -n 2 -- {}",
                    options.inputs[0], options.inputs[1], fmt::join(options.inputs, " ")));
  }
  return options.program.empty() ? job_task(options, lockstep) : program_task(options);
}

std::uint32_t choose_workers(const Options& options, Task::Kind kind) {
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
  if (kind == Task::Kind::kJob) {
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
void tune(HostProbe& probe, const Options& options, const std::filesystem::path& folder,
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

Launch make_launch(const Options& options, const Task& task, std::uint32_t workers) {
  Launch launch;
  HostJob& job = launch.plan.job;
  job.file = task.file;
  job.args = task.args;
  for (char** entry = environ; *entry != nullptr; ++entry) job.environment.emplace_back(*entry);
  job.directory = std::filesystem::current_path();
  job.master_address = "127.0.0.1";  // one host: no other address is needed, and none is opened
  job.interface = "lo";
  launch.plan.workers_per_host = {workers};
  launch.plan.version = engine::version();
  launch.plan.grace = std::chrono::milliseconds(std::llround(options.grace_s * 1000));
  if (options.verbose) launch.verbosity = Verbosity::kVerbose;
  if (task.kind == Task::Kind::kJob) {
    launch.lead = LeadLines::kBare;
    if (::isatty(STDOUT_FILENO) != 0) job.lead_output = LeadOutput::kAtOnce;
  }
  return launch;
}

}  // namespace

int run_launch(const std::vector<std::string>& args) {
  Options options;
  if (const auto done = parse(args, options)) return *done;
  constexpr double kLongestGrace = 86'400;
  if (!(options.grace_s >= 0 && options.grace_s <= kLongestGrace)) {
    throw UsageError(
        fmt::format("--grace {}: expected 0 to {} seconds", options.grace_s, kLongestGrace));
  }
  const std::filesystem::path lockstep = std::filesystem::read_symlink("/proc/self/exe");
  const Task task = choose_task(options, lockstep);
  const std::uint32_t workers = choose_workers(options, task.kind);
  Launch launch = make_launch(options, task, workers);
  launch.agent = lockstep.parent_path() / "lockstep-agent";

  // Before anything has a thread, so that no thread takes a signal that is meant for us.
  const Signals signals{SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};
  try {
    std::optional<HostProbe> probe;
    if (!options.no_tune) probe.emplace();
    const auto folder = runtime::metrics::RunFolder::create(options.runs, task.name);
    std::filesystem::create_directory(folder.path() / "log");
    runtime::metrics::Summary summary;
    summary.name = task.name;
    summary.run = folder.id();
    runtime::metrics::complete_summary(folder, summary);  // also where no trainer will fill it in
    const StoreHost store(workers, launch.plan.job.generation);
    launch.plan.job.run_id = folder.id();
    launch.plan.job.run_folder = folder.path();
    launch.plan.job.store_address = store.address();
    launch.plan.job.secret = store.secret();
    if (probe) tune(*probe, options, folder.path(), launch.plan.job.environment);
    fmt::print(stderr, "lockstep: {} worker{}, run folder {}\n", workers, workers == 1 ? "" : "s",
               (std::filesystem::path(options.runs) / task.name / folder.id()).string());

    summary.world = workers;
    summary.restarts = static_cast<std::int64_t>(launch.plan.job.generation);
    summary.started = seconds_now();
    const Outcome outcome = run_coordinator(launch, signals);
    note_end(summary, outcome);
    runtime::metrics::complete_summary(folder, summary);
    return outcome.code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kExitNotStarted;
  }
}

}  // namespace lockstep::launcher
