#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

constexpr std::string_view kReseat =
    "Reseat the bridge or the GPU, look at `nvidia-smi nvlink -s` and at the kernel's log for Xid "
    "74, and have the part replaced where it stays";

bool names_its_inactive_ports(const Gpu& gpu) {
  return std::ranges::any_of(gpu.nvlinks, [](const NvlinkPort& port) { return !port.active; });
}

// The most links that a GPU like `gpu` has in all.
int most_of_peers(const Machine& machine, const NvlinkCounts& counts, std::size_t gpu) {
  int most = 0;
  for (std::size_t peer = 0; peer < machine.gpus.size(); ++peer) {
    if (are_alike(machine.gpus[gpu], machine.gpus[peer])) most = std::max(most, counts.all[peer]);
  }
  return most;
}

// In a mesh the GPUs of a part of a machine have different numbers by design, so what most of them
// have is only believed of three quarters.
bool is_usual(const NvlinkCounts& counts, int links) {
  return 4 * std::ranges::count(counts.all, links) >= 3 * static_cast<long>(counts.all.size());
}

std::vector<Finding> fewer_than_peers(const Machine& machine, const NvlinkCounts& counts) {
  std::vector<Finding> found;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    const int own = counts.all[gpu];
    const int most = most_of_peers(machine, counts, gpu);
    if (own == 0 || own >= most || names_its_inactive_ports(machine.gpus[gpu])) continue;
    if (counts.shape == NvlinkShape::mesh && !is_usual(counts, most)) continue;
    const DeviceId id{DeviceKind::gpu, static_cast<int>(gpu)};
    found.push_back({.severity = Severity::error,
                     .code = "lost-nvlink",
                     .message = fmt::format("{} has {} of {} NVLinks: its peers have {}.",
                                            name_of(machine, id), own, most, most),
                     .where = to_string(id),
                     .remedy = fmt::format("{}.", kReseat)});
  }
  return found;
}

// How many links the bridge of a lone pair has when all of it makes contact. Sources: bridges of
// Turing have 1 or 2 links, of GA102 and GV100 4, each of the three of A100 and H100 cards 4.
int whole_bridge(const Machine& machine, const Gpu& gpu, int links) {
  static constexpr std::array kWhole{1, 2, 4, 6, 8, 12, 18};
  if (gpu.sm == 86) return std::max(4, links);
  // POWER9 hosts join their pairs of V100 by three links.
  if (links == 3 && (machine.cpu.architecture == "ppc64" || gpu.sm == 70)) return links;
  return *std::ranges::lower_bound(kWhole, links);
}

std::vector<Finding> partial_bridges(const Machine& machine, const NvlinkCounts& counts) {
  std::vector<Finding> found;
  const auto bridged = std::ranges::count_if(counts.all, [](int links) { return links > 0; });
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      const int links = counts.pair[a][b];
      if (links == 0) continue;
      const bool lone = bridged == 2;
      const int whole =
          lone ? whole_bridge(machine, machine.gpus[a], links) : most_of_peers(machine, counts, a);
      if (links >= whole) continue;
      const DeviceId first{DeviceKind::gpu, static_cast<int>(a)};
      const DeviceId second{DeviceKind::gpu, static_cast<int>(b)};
      found.push_back(
          {.severity = Severity::warning,
           .code = "lost-nvlink",
           .message = fmt::format("The pair {} and {} has {} of {} NVLinks: {}.",
                                  name_of(machine, first), name_of(machine, second), links, whole,
                                  lone ? "no bridge has just as many, so it makes partial contact"
                                       : "the other pairs have that many"),
           .where = fmt::format("{}-{}", to_string(first), to_string(second)),
           .remedy = fmt::format("{}.", kReseat)});
    }
  }
  return found;
}

}  // namespace

std::vector<Finding> lost_nvlinks(const Machine& machine) {
  const NvlinkCounts counts = count_nvlinks(machine);
  switch (counts.shape) {
    case NvlinkShape::none:
      break;
    case NvlinkShape::bridges:
      return partial_bridges(machine, counts);
    case NvlinkShape::fabric:
    case NvlinkShape::mesh:
      return fewer_than_peers(machine, counts);
  }
  return {};
}

}  // namespace lockstep::topology::findings
