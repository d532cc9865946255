#include "topology/findings/nvlink_counts.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace lockstep::topology::findings {
namespace {

// No GPU has more links than this; a matrix that shows more in a row is of a switched fabric,
// where each pair shows all of a GPU's links.
constexpr int kMostLinks = 18;

// The number of "NV12"; 0 for any other label.
int links_of_label(std::string_view label) {
  if (!label.starts_with("NV")) return 0;
  label.remove_prefix(2);
  int links = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), links);
  const bool read = error == std::errc() && end == label.data() + label.size();
  return read && links > 0 && links <= kMostLinks ? links : 0;
}

bool is_gpu(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::gpu && id.index >= 0 &&
         id.index < static_cast<int>(machine.gpus.size());
}

void count_links(const Machine& machine, NvlinkCounts& counts, std::vector<int>& switched) {
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::nvlink || link.count < 1 || link.from == link.to) continue;
    const auto from = static_cast<std::size_t>(link.from.index);
    const auto to = static_cast<std::size_t>(link.to.index);
    if (is_gpu(machine, link.from) && is_gpu(machine, link.to)) {
      counts.pair[from][to] += link.count;
      counts.pair[to][from] += link.count;
    } else if (is_gpu(machine, link.from) && link.to.kind == DeviceKind::nvswitch) {
      switched[from] += link.count;
    } else if (is_gpu(machine, link.to) && link.from.kind == DeviceKind::nvswitch) {
      switched[to] += link.count;
    }
  }
}

void count_labels(const Machine& machine, NvlinkCounts& counts) {
  for (const StatedPath& path : machine.stated) {
    const int links = links_of_label(path.label);
    if (links == 0 || path.from == path.to) continue;
    if (!is_gpu(machine, path.from) || !is_gpu(machine, path.to)) continue;
    const auto from = static_cast<std::size_t>(path.from.index);
    const auto to = static_cast<std::size_t>(path.to.index);
    int& known = counts.pair[from][to];
    known = known == 0 ? links : std::min(known, links);
    counts.pair[to][from] = known;
  }
}

int peers_of(const std::vector<int>& row) {
  return static_cast<int>(std::ranges::count_if(row, [](int links) { return links > 0; }));
}

}  // namespace

NvlinkCounts count_nvlinks(const Machine& machine) {
  const std::size_t gpus = machine.gpus.size();
  NvlinkCounts counts;
  counts.pair.assign(gpus, std::vector<int>(gpus, 0));
  counts.all.assign(gpus, 0);
  count_links(machine, counts, counts.all);
  if (std::ranges::any_of(counts.all, [](int links) { return links > 0; })) {
    counts.shape = NvlinkShape::fabric;
    return counts;
  }
  const auto is_joined = [](const std::vector<int>& row) { return peers_of(row) > 0; };
  if (std::ranges::none_of(counts.pair, is_joined)) count_labels(machine, counts);
  if (std::ranges::none_of(counts.pair, is_joined)) return counts;

  counts.shape = NvlinkShape::bridges;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const std::vector<int>& row = counts.pair[gpu];
    counts.all[gpu] = std::accumulate(row.begin(), row.end(), 0);
    if (peers_of(row) > 1 && counts.shape == NvlinkShape::bridges) counts.shape = NvlinkShape::mesh;
    if (counts.all[gpu] > kMostLinks) counts.shape = NvlinkShape::fabric;
  }
  if (counts.shape == NvlinkShape::fabric) {
    // A pair shows the links of the end that has fewer, so a GPU's own are the most of its row.
    for (std::size_t gpu = 0; gpu < gpus; ++gpu)
      counts.all[gpu] = *std::ranges::max_element(counts.pair[gpu]);
  }
  return counts;
}

bool are_alike(const Gpu& a, const Gpu& b) {
  return a.name.empty() || b.name.empty() || a.name == b.name;
}

}  // namespace lockstep::topology::findings
