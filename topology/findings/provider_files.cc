#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

bool is_set(const System& system, std::string_view variable) {
  return std::ranges::count(system.settings, variable, &Setting::variable) > 0;
}

bool is_live(const Machine& machine) {
  return std::ranges::count(machine.sources, "live") > 0;
}

// Whether all GPUs are known to be on the same node.
bool is_single_node(const Machine& machine) {
  if (std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return !gpu.numa; })) return false;
  return std::ranges::all_of(
      machine.gpus, [&machine](const Gpu& gpu) { return gpu.numa == machine.gpus.front().numa; });
}

}  // namespace

std::vector<Finding> provider_files(const Machine& machine) {
  const System& system = machine.system;
  // Azure alone ships its files for the user to name; AWS's plug-in and the others' images do it
  // themselves.
  if (system.provider != Provider::azure || machine.gpus.size() < 2) return {};
  if (is_set(system, "NCCL_TOPO_FILE")) return {};
  std::vector<Finding> found;
  if (is_live(machine) && has_rdma(machine)) {
    found.push_back({.severity = Severity::warning,
                     .code = "provider-file-unused",
                     .message = "An Azure machine hides its PCIe switches and NUMA nodes, and "
                                "NCCL_TOPO_FILE does not name the file that describes them.",
                     .where = machine.name,
                     .remedy = "Use Azure's HPC image, whose /etc/nccl.conf sets it, or set "
                               "NCCL_TOPO_FILE to the file of this size under /opt/microsoft."});
  }
  if (machine.gpus.size() >= 8 && is_single_node(machine)) {
    found.push_back({.severity = Severity::warning,
                     .code = "single-numa",
                     .message = fmt::format("All {} GPUs are said to be on one NUMA node: the "
                                            "hypervisor hides the other socket.",
                                            machine.gpus.size()),
                     .where = machine.name,
                     .remedy = "Believe the provider's topology file (NCCL_TOPO_FILE), and set "
                               "NCCL_IGNORE_CPU_AFFINITY=1."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
