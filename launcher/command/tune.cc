// lockstep tune: what NCCL should be told about these hosts, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "launcher/command/command.h"
#include "launcher/command/host_view.h"
#include "topology/advice/advice.h"
#include "topology/advice/host_advice.h"
#include "topology/advice/hosts.h"
#include "topology/advice/nccl_version.h"
#include "topology/advice/rail_facts.h"
#include "topology/advice/writers.h"
#include "topology/draw/text.h"

namespace lockstep::launcher {
namespace {

constexpr const char* kTuneExamples =
    "examples:\n"
    "  lockstep tune --explain\n"
    "  eval \"$(lockstep tune)\"\n"
    "  lockstep tune --hosts a,b,c --format json\n"
    "  lockstep tune --from matrix.txt --from ibdev2netdev.txt --nccl 2.27\n\n"
    "exit code: 0 done; 1 something could not be read, or hosts need different values; 2 wrong "
    "usage.\n";

enum class Format { env, conf, json, explain };

struct TuneOptions {
  ViewOptions view;
  std::optional<std::string> nccl;
  int job_hosts = 0;
  std::string format;
  bool explain = false;
};

std::optional<int> parse_tune(const std::vector<std::string>& args, TuneOptions& options) {
  CLI::App app(
      "Says which NCCL variables these hosts need: only those of which NCCL's own default is wrong "
      "or fragile here.\n"
      "What is set already is kept and judged. Without flags: this host.",
      "lockstep tune");
  app.footer(kTuneExamples);
  add_view_options(app, options.view);
  app.add_option("--nccl", options.nccl, "NCCL's version (default: the host's own, else 2.28)")
      ->type_name("VERSION");
  app.add_option(
         "--job-hosts", options.job_hosts,
         "how many hosts the job will have; 1 leaves out what concerns the network between hosts\n"
         "(default: the hosts looked at, at least 2)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  auto* format = app.add_option("--format", options.format,
                                "env (default): lines for a shell; conf: NCCL_CONF_FILE; json")
                     ->type_name("env|conf|json")
                     ->check(CLI::IsMember({"env", "conf", "json"}));
  app.add_flag("--explain", options.explain, "say why, in words")->excludes(format);
  return parse_command_line(app, args);
}

Format format_of(const TuneOptions& options) {
  if (options.explain) return Format::explain;
  if (options.format == "conf") return Format::conf;
  if (options.format == "json") return Format::json;
  return Format::env;
}

// In JSON what is wrong with a host stands with its advice: reading, judging, then advising.
void print_json(std::vector<topology::HostAdvice> hosts, const topology::Cluster& cluster) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::vector<topology::Finding> all = cluster.hosts[i].findings;
    add_new(all, std::move(hosts[i].findings));
    hosts[i].findings = std::move(all);
  }
  fmt::print("{}", topology::write_json(hosts, cluster.findings));
}

void print(std::span<const topology::HostAdvice> hosts, Format format) {
  if (format == Format::explain) {
    for (const topology::HostAdvice& host : hosts) fmt::print("{}\n", topology::explain(host));
    return;
  }
  const topology::HostAdvice all =
      hosts.size() == 1 ? hosts.front() : topology::for_all_hosts(hosts);
  fmt::print("{}", format == Format::env ? topology::write_env(all) : topology::write_conf(all));
}

// What is wrong with what was seen stands beside the advice, not in it: the advice may be read by a
// shell.
void warn(const View& view) {
  std::vector<topology::Finding> serious = view.cluster.findings;
  for (const topology::Machine& machine : view.cluster.hosts) {
    std::ranges::copy(machine.findings, std::back_inserter(serious));
  }
  std::erase_if(serious, [](const topology::Finding& finding) {
    return finding.severity == topology::Severity::info;
  });
  fmt::print(stderr, "{}", topology::draw_findings(serious));
}

}  // namespace

int run_tune(const std::vector<std::string>& args) {
  TuneOptions options;
  if (const auto done = parse_tune(args, options)) return *done;
  if (options.nccl && !topology::parse_nccl_version(*options.nccl)) {
    throw UsageError(
        fmt::format("--nccl {}: expected a version such as 2.28 or 2.28.9", *options.nccl));
  }
  const View view = look(options.view);
  warn(view);
  if (view.cluster.hosts.empty()) {
    throw std::runtime_error(
        view.complete
            ? "no host to advise: what was given describes none, or only the network between hosts"
            : "no host to advise: none was reached");
  }
  std::vector<topology::HostAdvice> hosts;
  for (const topology::Machine& machine : view.cluster.hosts) {
    topology::AdviceOptions wanted;
    wanted.nccl = options.nccl.value_or("");
    wanted.hosts = options.job_hosts > 0 ? options.job_hosts
                                         : std::max(2, static_cast<int>(view.cluster.hosts.size()));
    if (view.cluster.fabric) {
      topology::RailFacts rails =
          topology::rail_facts(*view.cluster.fabric, machine, view.fabric_source);
      wanted.rails = rails.connection;
      wanted.rails_evidence = std::move(rails.evidence);
    }
    if (view.here) wanted.topo_file = std::filesystem::absolute(wanted.topo_file);
    hosts.push_back(topology::advise_host(
        machine, std::move(wanted),
        view.here ? topology::Whereabouts::kHere : topology::Whereabouts::kElsewhere));
  }
  if (format_of(options) == Format::json) {
    print_json(std::move(hosts), view.cluster);
    return view.complete ? 0 : 1;
  }
  try {
    print(hosts, format_of(options));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        fmt::format("{}\n  `lockstep tune --format json` has each host's own", error.what()));
  }
  return view.complete ? 0 : 1;
}

}  // namespace lockstep::launcher
