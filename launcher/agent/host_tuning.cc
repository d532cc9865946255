#include "launcher/agent/host_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "topology/advice/host_advice.h"
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

bool has(const std::vector<std::string>& environment, const std::string& variable) {
  const std::string begin = variable + "=";
  return std::ranges::any_of(
      environment, [&begin](const std::string& entry) { return entry.starts_with(begin); });
}

// "topology.json", on other hosts than the first "topology.host2.json".
std::string name_of(const std::string& stem, const std::string& extension, const HostJob& job) {
  return job.host_rank == 0 ? fmt::format("{}.{}", stem, extension)
                            : fmt::format("{}.host{}.{}", stem, job.host_rank, extension);
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

Tuning HostProbe::tune(const HostJob& job) {
  const Seen& seen = seen_.get();
  const std::filesystem::path folder = job.run_folder;
  std::filesystem::create_directories(folder);
  topology::AdviceOptions options;
  options.hosts = static_cast<int>(job.hosts);
  options.topo_file = folder / name_of("nccl-topology", "xml", job);
  const topology::HostAdvice advice =
      topology::advise_host(seen.machine, options, topology::Whereabouts::kHere);
  Tuning tuning{.environment = {}, .explanation = topology::explain(advice), .probe = seen.took};
  for (const topology::Advice& setting : advice.settings) {
    if (setting.kept || has(job.environment, setting.variable)) continue;
    // Which interface leads to the other hosts was tried out.
    if (setting.variable == "NCCL_SOCKET_IFNAME" && job.hosts > 1) continue;
    tuning.environment.push_back(fmt::format("{}={}", setting.variable, setting.value));
    if (setting.variable == "NCCL_TOPO_FILE") {
      write(options.topo_file,
            topology::write_nccl_xml(seen.machine, topology::NcclXmlForm::virtual_machine));
    }
  }
  write(folder / name_of("nccl", "env", job), topology::write_env(advice));
  const std::vector<topology::PathTable> paths{topology::paths_of(seen.machine)};
  write(folder / name_of("topology", "json", job),
        topology::to_json(topology::merge_hosts({seen.machine}), {.paths = paths}));
  return tuning;
}

}  // namespace lockstep::launcher
