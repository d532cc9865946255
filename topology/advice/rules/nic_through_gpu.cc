// Sources: NCCL 2.28 (graph/paths.cc, ncclTopoComputePaths), NCCL user guide (NCCL_PXN_DISABLE).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "topology/advice/rules.h"
#include "topology/stated_paths.h"

namespace lockstep::topology {
namespace {

Path way(const Situation& situation, int gpu, DeviceId to) {
  return situation.paths.between({DeviceKind::gpu, gpu}, to);
}

bool has_near_nic(const Situation& situation, int gpu) {
  return std::ranges::any_of(situation.nics.used, [&](int nic) {
    return is_near(way(situation, gpu, {DeviceKind::nic, nic}).kind);
  });
}

// The GPU near an adapter to which `gpu` has the most NVLinks.
std::optional<int> stand_in(const Situation& situation, int gpu, const std::vector<int>& near) {
  std::optional<int> best;
  int most = 0;
  for (const int other : near) {
    const Path path = way(situation, gpu, {DeviceKind::gpu, other});
    const int links = path.kind == PathKind::NVL ? nvlinks_of_label(path.label).value_or(1) : 0;
    if (links <= most) continue;
    best = other;
    most = links;
  }
  return best;
}

std::string gpus_text(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += fmt::format("{}GPU{}", text.empty() ? "" : ", ", gpu);
  return text;
}

}  // namespace

Ruling nic_through_gpu(const Situation& situation) {
  // Where links are known the paths have it themselves (PXN).
  if (!situation.crosses_hosts() || !situation.machine.links.empty()) return {};
  std::vector<int> near, far;
  for (const int gpu : situation.gpus) {
    (has_near_nic(situation, gpu) ? near : far).push_back(gpu);
  }
  if (near.empty() || far.empty()) return {};
  std::string ways;
  std::vector<int> stranded;
  for (const int gpu : far) {
    const auto through = stand_in(situation, gpu, near);
    if (!through) {
      stranded.push_back(gpu);
      continue;
    }
    ways += fmt::format("{}GPU{} through GPU{} ({})", ways.empty() ? "" : ", ", gpu, *through,
                        way(situation, gpu, {DeviceKind::gpu, *through}).label);
  }
  if (ways.empty()) return {};
  const std::string rest = stranded.empty()
                               ? std::string()
                               : fmt::format(
                                     "; {} {} no NVLink to a GPU near an adapter and must go over "
                                     "the CPU",
                                     gpus_text(stranded), stranded.size() == 1 ? "has" : "have");
  return {{},
          {},
          {{.severity = Severity::info,
            .code = "nic-through-gpu",
            .message = fmt::format("only {} {} near an adapter; NCCL leads others there by NVLink "
                                   "(PXN): {}{}",
                                   gpus_text(near), near.size() == 1 ? "is" : "are", ways, rest),
            .where = "",
            .remedy = "leave NCCL_PXN_DISABLE unset"}}};
}

}  // namespace lockstep::topology
