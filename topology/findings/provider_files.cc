#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

constexpr std::size_t kBoard = 8;  // GPUs of a board for two sockets

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

Finding single_numa(const Machine& machine, std::string why) {
  return {.severity = Severity::warning,
          .code = "single-numa",
          .message = fmt::format("All {} GPUs are said to be on one NUMA node: {}.",
                                 machine.gpus.size(), why),
          .where = machine.name,
          .remedy =
              "Believe the provider's topology file (NCCL_TOPO_FILE), and set "
              "NCCL_IGNORE_CPU_AFFINITY=1."};
}

// Whether a matrix shows eight GPUs that NVLinks join in a mesh, some pairs without one, and no two
// devices nearer than NODE otherwise. Such boards hang off the switches of two sockets; so alike
// are the devices of one socket only to a guest.
bool is_flattened_mesh(const Machine& machine) {
  constexpr int kFewestPeers = 2;  // a bridge joins two GPUs, a mesh each with several
  if (!machine.links.empty()) return false;
  std::vector<int> peers(machine.gpus.size());
  for (const StatedPath& path : machine.stated) {
    if (path.label == "NODE") continue;
    if (!path.label.starts_with("NV")) return false;
    for (const DeviceId end : {path.from, path.to}) {
      const auto gpu = static_cast<std::size_t>(end.index);
      if (end.kind == DeviceKind::gpu && gpu < peers.size()) ++peers[gpu];
    }
  }
  const auto all = static_cast<int>(peers.size()) - 1;
  return std::ranges::all_of(peers,
                             [&](int count) { return count >= kFewestPeers && count < all; });
}

}  // namespace

std::vector<Finding> provider_files(const Machine& machine) {
  const System& system = machine.system;
  // Azure alone ships its files for the user to name; AWS's plug-in and the others' images do it
  // themselves.
  if (is_set(system, "NCCL_TOPO_FILE") || machine.gpus.size() < 2) return {};
  const bool hides_socket = machine.gpus.size() >= kBoard && is_single_node(machine);
  if (system.provider != Provider::azure) {
    if (!hides_socket || !is_flattened_mesh(machine)) return {};
    return {single_numa(machine,
                        "a board with such NVLinks hangs off two sockets, and no two of "
                        "its devices share a switch here, so that a hypervisor hides "
                        "what is there")};
  }
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
  if (hides_socket) {
    found.push_back(single_numa(machine, "the hypervisor hides the other socket"));
  }
  return found;
}

}  // namespace lockstep::topology::findings
