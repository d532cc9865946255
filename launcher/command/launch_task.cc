#include "launcher/command/launch_task.h"

#include <fmt/format.h>

#include <cstdlib>

#include "launcher/command/command.h"
#include "launcher/program_search.h"
#include "runtime/job.h"
#include "runtime/metrics/run_folder.h"

namespace lockstep::launcher {
namespace {

LaunchTask job_task(const LaunchOptions& options, const std::filesystem::path& lockstep) {
  const std::string& job = options.inputs.front();
  LaunchTask task{.name = {},
                  .file = lockstep,
                  .args = {"lockstep", "train", job},
                  .kind = LaunchTask::Kind::kJob};
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

LaunchTask program_task(const LaunchOptions& options) {
  if (!options.plan.empty()) {
    throw UsageError("--plan is a job's; a program takes its own arguments");
  }
  if (!options.settings.empty()) {
    throw UsageError("--set changes a job file; a program takes its own arguments");
  }
  const std::string& program = options.program.front();
  LaunchTask task;
  task.file = program;
  // Looked for on every host; here too, so that a wrong name starts nothing, where this is one.
  if (!options.hosts && !options.hostfile) {
    const char* path = std::getenv("PATH");
    try {
      const std::string found = find_program(program, path != nullptr ? path : "/bin:/usr/bin");
      task.file = std::filesystem::absolute(found);
    } catch (const ProgramNotFound& error) {
      throw UsageError(error.what());
    }
  }
  task.args = options.program;
  task.name = std::filesystem::path(program).filename().string();
  if (!runtime::metrics::is_run_name(task.name)) task.name = "program";
  return task;
}

}  // namespace

LaunchTask choose_task(const LaunchOptions& options, const std::filesystem::path& lockstep) {
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

}  // namespace lockstep::launcher
