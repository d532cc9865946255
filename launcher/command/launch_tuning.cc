#include "launcher/command/launch_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "launcher/command/host_view.h"
#include "topology/advice/writers.h"
#include "topology/cluster_merge.h"
#include "topology/json.h"
#include "topology/nccl_xml_writer.h"
#include "topology/paths.h"
#include "topology/probe/probe.h"

namespace lockstep::launcher {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written", path.string()));
}

}  // namespace

HostProbe::HostProbe()
    : seen_(std::async(std::launch::async, [] {
        const auto began = std::chrono::steady_clock::now();
        Seen seen{.machine = topology::probe(), .took = {}};
        seen.took = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - began);
        return seen;
      })) {}

Tuning HostProbe::finish(const std::filesystem::path& run_folder) {
  Seen seen = seen_.get();
  topology::AdviceOptions options;
  options.hosts = 1;
  options.topo_file = run_folder / "nccl-topology.xml";
  const topology::HostAdvice advice = advice_for(seen.machine, options, true);
  Tuning tuning{.environment = {}, .explanation = topology::explain(advice), .probe = seen.took};
  for (const topology::Advice& setting : advice.settings) {
    if (setting.kept) continue;
    tuning.environment.push_back(fmt::format("{}={}", setting.variable, setting.value));
    if (setting.variable == "NCCL_TOPO_FILE") {
      write(options.topo_file,
            topology::write_nccl_xml(seen.machine, topology::NcclXmlForm::virtual_machine));
    }
  }
  write(run_folder / "nccl.env", topology::write_env(advice));
  const std::vector<topology::PathTable> paths{topology::paths_of(seen.machine)};
  write(run_folder / "topology.json",
        topology::to_json(topology::merge_hosts({std::move(seen.machine)}), {.paths = paths}));
  return tuning;
}

}  // namespace lockstep::launcher
