#include "topology/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/nccl_paths.h"
#include "topology/stated_paths.h"

namespace lockstep::topology {
namespace {

using Pair = std::pair<DeviceId, DeviceId>;

// NVLinks of each GPU, by what is at their other end; all NVSwitches are one.
using NvlinkCounts = std::map<int, std::map<DeviceId, int>>;

NvlinkCounts count_nvlinks(const Machine& machine) {
  NvlinkCounts counts;
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::nvlink) continue;
    for (auto [own, other] : {Pair{link.from, link.to}, Pair{link.to, link.from}}) {
      if (own.kind != DeviceKind::gpu || own == other) continue;
      if (other.kind == DeviceKind::nvswitch) other.index = 0;
      counts[own.index][other] += link.count;
    }
  }
  return counts;
}

// nvidia-smi's word for two GPUs that reach each other by NVLink; empty for other links.
std::string nvlink_label(const NvlinkCounts& counts, DeviceId a, DeviceId b) {
  const auto of_a = counts.find(a.index), of_b = counts.find(b.index);
  if (of_a == counts.end() || of_b == counts.end()) return {};
  if (const auto direct = of_a->second.find(b); direct != of_a->second.end())
    return fmt::format("NV{}", direct->second);
  const DeviceId switches{DeviceKind::nvswitch, 0};
  const auto up_a = of_a->second.find(switches), up_b = of_b->second.find(switches);
  if (up_a == of_a->second.end() || up_b == of_b->second.end()) return {};
  return fmt::format("NV{}", std::min(up_a->second, up_b->second));
}

Path path_of(DeviceId from, DeviceId to, const Route& route) {
  Path path{.from = from, .to = to};
  // No way at all is a part of the machine that the recording does not show.
  if (route.exists()) path.kind = route.kind;
  path.label = to_string(path.kind);
  if (route.exists() && route.known) path.GBps = route.GBps;
  return path;
}

std::vector<Path> linked_paths(const Machine& machine, const PathOptions& options) {
  const NcclPaths found = nccl_paths(machine, options);
  const NvlinkCounts nvlinks = count_nvlinks(machine);
  const auto gpus = static_cast<int>(found.gpu_to_gpu.size());
  const auto nics = static_cast<int>(found.port_to_port.size());
  std::vector<Path> paths;
  for (int a = 0; a < gpus; ++a) {
    const DeviceId from{DeviceKind::gpu, a};
    const auto row = static_cast<std::size_t>(a);
    for (int b = a + 1; b < gpus; ++b) {
      Path path =
          path_of(from, {DeviceKind::gpu, b}, found.gpu_to_gpu[row][static_cast<std::size_t>(b)]);
      const std::string label =
          path.kind == PathKind::NVL ? nvlink_label(nvlinks, from, path.to) : std::string();
      if (!label.empty()) path.label = label;
      paths.push_back(std::move(path));
    }
    for (int b = 0; b < nics; ++b)
      paths.push_back(
          path_of(from, {DeviceKind::nic, b}, found.gpu_to_port[row][static_cast<std::size_t>(b)]));
  }
  for (int a = 0; a < nics; ++a) {
    for (int b = a + 1; b < nics; ++b)
      paths.push_back(
          path_of({DeviceKind::nic, a}, {DeviceKind::nic, b},
                  found.port_to_port[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]));
  }
  return paths;
}

// Whether what is stated of a pair says more than the links do.
bool says_more(const Path& stated, const Path& linked) {
  if (linked.kind == PathKind::unknown) return true;
  return stated.kind == PathKind::NVL && linked.kind > PathKind::NVL;
}

}  // namespace

PathTable paths_of(const Machine& machine, const PathOptions& options) {
  std::vector<Path> stated = stated_paths(machine);
  if (machine.links.empty()) return PathTable(std::move(stated));
  std::vector<Path> paths = linked_paths(machine, options);
  std::map<Pair, std::size_t> places;
  for (std::size_t i = 0; i < paths.size(); ++i) places[{paths[i].from, paths[i].to}] = i;
  for (Path& path : stated) {
    if (path.to < path.from) std::swap(path.from, path.to);
    const auto place = places.find({path.from, path.to});
    if (place == places.end()) continue;
    Path& linked = paths[place->second];
    if (says_more(path, linked)) {
      linked = std::move(path);
    } else if (linked.kind > PathKind::NVB || path.kind == PathKind::NVL) {
      linked.label = path.label;  // `topo -mp` knows no NVLinks
    }
  }
  return PathTable(std::move(paths));
}

}  // namespace lockstep::topology
