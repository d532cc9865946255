#include "launcher/command/launch_options.h"

#include <algorithm>
#include <cmath>

#include "launcher/command/command.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kExamples =
    "examples:\n"
    "  lockstep launch -n 2 job.json\n"
    "  lockstep launch -n 2 --set data.batch=64 job.json\n"
    "  lockstep launch -n 4 -- python3 train.py --epochs 3\n\n"
    "exit code: 0 done; 2 wrong usage; 125 a worker could not be started; 130 interrupted;\n"
    "else that of the first worker that failed (128+signal).\n";

}  // namespace

std::optional<int> parse_launch_options(const std::vector<std::string>& args,
                                        LaunchOptions& options) {
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
  app.add_option("--hosts", options.hosts, "start workers on these hosts, with so many slots")
      ->type_name("A:8,B:8");
  app.add_option("--hostfile", options.hostfile, "the same from a file (docs/launching.md)")
      ->type_name("FILE");
  app.add_option("--hostfile-format", options.hostfile_format,
                 "its grammar, where its content does not tell")
      ->type_name("openmpi|hydra|deepspeed");
  app.add_option("--include", options.include, "only these hosts, or devices of them")
      ->type_name("HOST[:0,1]@HOST");
  app.add_option("--exclude", options.exclude, "all but these")->type_name("HOST[:0,1]@HOST");
  app.add_option("--bind", options.bind, "CPUs of a worker: its share, a NUMA node, near its GPU")
      ->type_name("none|core|numa|gpu")
      ->check(CLI::IsMember({"none", "core", "numa", "gpu"}));
  app.add_option("--log-rank", options.log_ranks,
                 "show the output of these ranks only (every rank's log is kept)")
      ->type_name("RANK,..")
      ->delimiter(',');
  app.add_flag("--oversubscribe", options.oversubscribe, "more workers than slots are meant");
  app.add_flag("--dry-run", options.dry_run, "print where workers would run, and start nothing");
  app.add_option("--ssh", options.ssh, "the ssh client and its flags (default: ssh)")
      ->type_name("COMMAND");
  app.add_option("--connect-timeout", options.connect_s,
                 "seconds in which a host must be reached (default: 10)")
      ->type_name("S");
  app.add_option("--max-restarts", options.max_restarts,
                 "how often a job that failed is started again (default: 0)")
      ->type_name("N");
  app.add_option("--nnodes", options.nnodes,
                 "hosts an attempt needs, and how many it may have (default: all)")
      ->type_name("MIN:MAX");
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

}  // namespace lockstep::launcher
