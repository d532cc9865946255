#include "topology/advice/rails.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::topology {
namespace {

Path path_of(const PathTable& paths, int gpu, int nic) {
  return paths.between({DeviceKind::gpu, gpu}, {DeviceKind::nic, nic});
}

bool is_grace(const Machine& machine) {
  return machine.cpu.architecture == "arm64" || machine.cpu.architecture == "aarch64" ||
         std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [](const Gpu& gpu) { return gpu.memory_numa.has_value(); });
}

// On real hardware two devices under one host bridge are rare, and two root ports of a node read
// NODE; a bus on which GPUs and NICs are all PHB of each other is a hypervisor's.
bool is_flat(const PathTable& paths, const NicChoice& nics, const Path& any) {
  if (any.kind == PathKind::unknown) return true;
  if (any.kind != PathKind::PHB || any.label == "NODE" || nics.used.size() < 2) return false;
  for (std::size_t i = 1; i < nics.used.size(); ++i) {
    const Path path =
        paths.between({DeviceKind::nic, nics.used[0]}, {DeviceKind::nic, nics.used[i]});
    if (path.kind != PathKind::PHB || path.label == "NODE") return false;
  }
  return true;
}

Affinity affinity_of(const Machine& machine, const PathTable& paths, const std::vector<int>& gpus,
                     const NicChoice& nics) {
  if (gpus.empty() || nics.used.empty()) return Affinity::none;
  const Path first = path_of(paths, gpus.front(), nics.used.front());
  if (nics.used.size() == 1 && first.kind != PathKind::unknown) return Affinity::known;
  // A matrix of a Grace host does not say which of its CPUs a NIC hangs on.
  const bool by_label_only = first.kind == PathKind::P2C && machine.links.empty();
  if (is_near(first.kind) && !by_label_only) return Affinity::known;
  for (const int gpu : gpus) {
    for (const int nic : nics.used) {
      if (path_of(paths, gpu, nic).kind != first.kind) return Affinity::known;
    }
  }
  if (is_grace(machine)) return Affinity::grace;
  if (machine.system.virtual_machine.value_or(is_flat(paths, nics, first))) {
    return Affinity::hidden;
  }
  return Affinity::equal;
}

// The used NICs on the best kind of path from `gpu`.
std::vector<int> nearest_nics(const PathTable& paths, int gpu, const NicChoice& nics) {
  PathKind best = PathKind::unknown;
  for (const int nic : nics.used) best = std::min(best, path_of(paths, gpu, nic).kind);
  std::vector<int> nearest;
  if (best == PathKind::unknown) return nearest;
  for (const int nic : nics.used) {
    if (path_of(paths, gpu, nic).kind == best) nearest.push_back(nic);
  }
  return nearest;
}

}  // namespace

RailMap rails_of(const Machine& machine, const PathTable& paths, const std::vector<int>& gpus,
                 const NicChoice& nics) {
  RailMap map{affinity_of(machine, paths, gpus, nics), {}};
  if (map.affinity != Affinity::known) return map;
  std::map<std::vector<int>, std::vector<int>> sharing;  // nearest NICs -> GPUs that have them
  for (const int gpu : gpus) sharing[nearest_nics(paths, gpu, nics)].push_back(gpu);
  for (const auto& [near, owners] : sharing) {
    for (std::size_t turn = 0; turn < std::max(near.size(), owners.size()) && !near.empty();
         ++turn) {
      const int gpu = owners[turn % owners.size()], nic = near[turn % near.size()];
      map.rails.push_back({gpu, nic, machine.nics[static_cast<std::size_t>(nic)].name,
                           path_of(paths, gpu, nic).kind});
    }
  }
  std::sort(map.rails.begin(), map.rails.end(), [](const GpuRail& a, const GpuRail& b) {
    return std::pair(a.gpu, a.nic) < std::pair(b.gpu, b.nic);
  });
  return map;
}

}  // namespace lockstep::topology
