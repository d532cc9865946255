// lockstep train: one worker of a job.
#include <fmt/format.h>

#include <csignal>
#include <iostream>

#include "launcher/command/command.h"
#include "launcher/coordinator/outcome.h"
#include "runtime/job.h"
#include "runtime/trainer.h"

namespace lockstep::launcher {
namespace {

constexpr const char* kTrainExamples =
    "examples:\n"
    "  lockstep train job.json\n"
    "  lockstep train --set data.batch=64 --set epochs=1 job.json\n"
    "  lockstep train --dump plan job.json\n\n"
    "exit code: 0 done; 1 failed; 2 wrong usage or job file; 130 interrupted.\n";

std::optional<runtime::Dump> dump_named(const std::string& name) {
  if (name == "graph") return runtime::Dump::graph;
  if (name == "plan") return runtime::Dump::plan;
  if (name == "memory") return runtime::Dump::memory;
  return std::nullopt;
}

}  // namespace

int run_train(const std::vector<std::string>& args) {
  std::string job_file;
  std::vector<std::string> settings;
  std::string what;
  runtime::TrainOptions options;
  CLI::App app(
      "Trains a job as one worker. Its rank comes from `lockstep launch`, which starts workers; "
      "without it the worker "
      "is alone.",
      "lockstep train");
  app.footer(kTrainExamples);
  app.add_option("JOB", job_file, "the job file (docs/job-file.md)")->required();
  app.add_option("--set", settings, "override a key of the job file; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--runs", options.runs, "where the run folder is made (default: runs)")
      ->type_name("DIR");
  app.add_option("--plan", options.plan,
                 "follow this plan.json of an earlier run: the same kernels, the same bits")
      ->type_name("FILE");
  app.add_option("--dump", what, "print the compiled job instead of training it")
      ->type_name("graph|plan|memory")
      ->check(CLI::IsMember({"graph", "plan", "memory"}));
  if (const auto done = parse_command_line(app, args)) return *done;

  // A limit on a file's size is an error of that write, not the end of the training.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const runtime::Job job = runtime::load_job(job_file, settings);
    if (const auto dumped = dump_named(what)) {
      std::cout << runtime::dump(job, *dumped);
      return 0;
    }
    return runtime::train(job, options, std::cout) == runtime::TrainEnd::done ? 0
                                                                              : kExitInterrupted;
  } catch (const runtime::JobError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace lockstep::launcher
