// lockstep probe: what hosts look like, and what is wrong with them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "launcher/command/command.h"
#include "launcher/command/host_view.h"
#include "topology/draw/dot.h"
#include "topology/draw/fabric_text.h"
#include "topology/draw/svg.h"
#include "topology/draw/text.h"
#include "topology/json.h"
#include "topology/nccl_xml_writer.h"
#include "topology/paths.h"
#include "topology/placement.h"

namespace lockstep::launcher {
namespace {

constexpr const char* kProbeExamples =
    "examples:\n"
    "  lockstep probe\n"
    "  lockstep probe --format svg > host.svg\n"
    "  lockstep probe --hosts a,b,c --format json\n"
    "  nvidia-smi topo -m | lockstep probe --from - --gpus 4\n\n"
    "exit code: 0 done; 1 something could not be read or reached; 2 wrong usage.\n";

struct ProbeOptions {
  ViewOptions view;
  int gpus = 0;
  std::string format = "text";
};

std::optional<int> parse_probe(const std::vector<std::string>& args, ProbeOptions& options) {
  CLI::App app(
      "Shows the processors, GPUs, network adapters and switches of hosts, how they reach each "
      "other, and what is wrong.\n"
      "Needs no root. Without flags: this host.",
      "lockstep probe");
  app.footer(kProbeExamples);
  add_view_options(app, options.view);
  app.add_option("--gpus", options.gpus, "name the N GPUs that talk to each other best")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--format", options.format,
         "text (default), json, dot (Graphviz), svg (a picture), nccl-xml (for NCCL_TOPO_FILE)")
      ->type_name("text|json|dot|svg|nccl-xml")
      ->check(CLI::IsMember({"text", "json", "dot", "svg", "nccl-xml"}));
  return parse_command_line(app, args);
}

// The one host that a picture or a file is of.
const topology::Machine& single(const View& view, const std::string& format) {
  const std::size_t hosts = view.cluster.hosts.size();
  if (hosts == 1) return view.cluster.hosts.front();
  throw std::runtime_error(fmt::format("--format {} is of one host, and there {} {}", format,
                                       hosts == 0 ? "is" : "are",
                                       hosts == 0 ? "none" : std::to_string(hosts)));
}

std::vector<topology::DeviceId> placement_of(const View& view, int gpus) {
  if (gpus == 0) return {};
  const topology::Machine& machine = single(view, "with --gpus");
  if (static_cast<std::size_t>(gpus) > machine.gpus.size()) {
    throw UsageError(fmt::format("--gpus {}: the host has {}", gpus, machine.gpus.size()));
  }
  return topology::best_gpus(topology::paths_of(machine), static_cast<int>(machine.gpus.size()),
                             gpus);
}

// A hypervisor's switches that claim next to nothing must not get into the file that is to correct
// them.
topology::NcclXmlForm form_for(const topology::Machine& machine) {
  const bool lies = std::ranges::find(machine.findings, "slow-virtual-switch",
                                      &topology::Finding::code) != machine.findings.end();
  return lies ? topology::NcclXmlForm::virtual_machine : topology::NcclXmlForm::full;
}

void print_text(const View& view, const std::vector<topology::DeviceId>& placement) {
  for (std::size_t i = 0; i < view.cluster.hosts.size(); ++i) {
    const topology::Machine& machine = view.cluster.hosts[i];
    fmt::print("{}{}", i == 0 ? "" : "\n",
               topology::draw_text(machine, topology::paths_of(machine)));
  }
  if (!placement.empty()) {
    std::string names;
    for (const topology::DeviceId gpu : placement)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(gpu));
    const std::string caveat = topology::placement_caveat(view.cluster.hosts.front());
    fmt::print("\nthe {} GPUs that talk to each other best: {}{}{}\n", placement.size(), names,
               caveat.empty() ? "" : "; ", caveat);
  }
  if (view.cluster.fabric) fmt::print("{}", topology::draw_fabric(*view.cluster.fabric));
  if (!view.cluster.findings.empty())
    fmt::print("\n{}", topology::draw_findings(view.cluster.findings));
}

void print_json(const View& view, const std::vector<topology::DeviceId>& placement) {
  std::vector<topology::PathTable> paths;
  for (const topology::Machine& machine : view.cluster.hosts)
    paths.push_back(topology::paths_of(machine));
  topology::JsonExtras extras{.paths = paths, .placement = placement, .placement_caveat = ""};
  if (!placement.empty())
    extras.placement_caveat = topology::placement_caveat(view.cluster.hosts.front());
  fmt::print("{}", topology::to_json(view.cluster, extras));
}

}  // namespace

int run_probe(const std::vector<std::string>& args) {
  ProbeOptions options;
  if (const auto done = parse_probe(args, options)) return *done;
  const View view = look(options.view);
  const std::vector<topology::DeviceId> placement = placement_of(view, options.gpus);
  if (options.format == "text") {
    print_text(view, placement);
  } else if (options.format == "json") {
    print_json(view, placement);
  } else {
    const topology::Machine& machine = single(view, options.format);
    if (options.format == "nccl-xml") {
      fmt::print("{}", topology::write_nccl_xml(machine, form_for(machine)));
      return view.complete ? 0 : 1;
    }
    const topology::PathTable paths = topology::paths_of(machine);
    fmt::print("{}", options.format == "dot" ? topology::draw_dot(machine, paths)
                                             : topology::draw_svg(machine, paths));
  }
  return view.complete ? 0 : 1;
}

}  // namespace lockstep::launcher
