// Sources: NCCL user guide (NCCL_IB_HCA), NVIDIA/nccl#302, #366, #1412.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/advice/name_list.h"
#include "topology/advice/rules.h"
#include "topology/natural_order.h"

namespace lockstep::topology {
namespace {

// NCCL reads at most this many entries.
constexpr std::size_t kMostEntries = 32;

// "mlx5_0", with the port where another port of the device is left out, or where it is not the
// first and the first is not used beside it: the name alone would mean all of them.
std::vector<std::string> entries_of(const Situation& situation) {
  std::set<std::string> split, first_used;
  for (const LeftOut& left : situation.nics.left_out) split.insert(left.nic_device);
  for (const int i : situation.nics.used) {
    if (situation.nic(i).port == 1) first_used.insert(situation.nic(i).name);
  }
  std::vector<std::string> entries;
  for (const int i : situation.nics.used) {
    const Nic& nic = situation.nic(i);
    const bool other_port = nic.port.value_or(1) != 1 && first_used.count(nic.name) == 0;
    const std::string entry = nic.port && (split.count(nic.name) != 0 || other_port)
                                  ? fmt::format("{}:{}", nic.name, *nic.port)
                                  : nic.name;
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
      entries.push_back(entry);
    }
  }
  return entries;
}

// Whom the names would also take as prefixes.
std::string prefix_evidence(const Situation& situation) {
  for (const int i : situation.nics.used) {
    std::vector<std::string_view> also;
    for (const Nic& other : situation.machine.nics) {
      if (other.name.size() > situation.nic(i).name.size() &&
          other.name.starts_with(situation.nic(i).name)) {
        also.push_back(other.name);
      }
    }
    if (!also.empty()) {
      std::sort(also.begin(), also.end(), natural_less);
      return fmt::format("written with '=': without it {} also matches {}", situation.nic(i).name,
                         fmt::join(also, " and "));
    }
  }
  return {};
}

std::vector<std::string> evidence_of(const Situation& situation) {
  std::vector<std::string> evidence;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LeftOut& left : situation.nics.left_out) {
    by_reason[left.reason].push_back(left.nic_device);
  }
  for (const auto& [reason, devices] : by_reason) {
    evidence.push_back(fmt::format("{}: {}", fmt::join(devices, ", "), reason));
  }
  if (!situation.rails.rails.empty()) {
    std::vector<std::string> rails;
    for (const GpuRail& rail : situation.rails.rails) {
      rails.push_back(fmt::format("GPU{} {}", rail.gpu, rail.nic_device));
    }
    evidence.push_back(fmt::format("rails: {}", fmt::join(rails, ", ")));
  }
  if (auto prefix = prefix_evidence(situation); !prefix.empty()) evidence.push_back(prefix);
  return evidence;
}

// Where GPUs have different numbers of near ports and no rate tells a rail from a second card
// behind the same switch: what is not known, else the empty text.
std::string uneven(const Situation& situation) {
  const auto& used = situation.nics.used;
  if (std::all_of(used.begin(), used.end(),
                  [&](int i) { return situation.nic(i).rate_Gbps.has_value(); })) {
    return {};
  }
  if (situation.gpus.empty()) return {};
  // A port that is down is its GPU's all the same.
  const auto is_near_to = [&](int gpu, int i) {
    return is_near(situation.paths.between({DeviceKind::gpu, gpu}, {DeviceKind::nic, i}).kind);
  };
  std::vector<std::string> most;
  std::size_t fewest = used.size() + situation.nics.left_out.size();
  std::size_t highest = 0;
  int gpu_of_most = 0;
  for (const int gpu : situation.gpus) {
    std::vector<std::string> near;
    for (const int i : used) {
      if (is_near_to(gpu, i)) near.push_back(shown_name(situation.machine, i));
    }
    const auto down = std::ranges::count_if(situation.nics.left_out, [&](const LeftOut& left) {
      return left.down && is_near_to(gpu, left.nic);
    });
    const std::size_t all = near.size() + static_cast<std::size_t>(down);
    fewest = std::min(fewest, all);
    if (all > highest) {
      highest = all;
      most = near;
      gpu_of_most = gpu;
    }
  }
  if (fewest == 0 || highest == fewest) return {};
  return fmt::format(
      "{} are equally near GPU{}, other GPUs have {}: which of them is the rail does not follow "
      "from distances; add `ibstat`, which has their rates",
      fmt::join(most, ", "), gpu_of_most, fewest);
}

}  // namespace

Ruling ib_hca(const Situation& situation) {
  const NicChoice& nics = situation.nics;
  if (!situation.crosses_hosts() || nics.used.empty()) return {};
  std::vector<std::string> taken;
  bool states_known = true;
  for (const LeftOut& left : nics.left_out) {
    if (!left.down) taken.push_back(left.nic_device);
    if (!left.down && situation.nic(left.nic).state == NicState::unknown) states_known = false;
  }
  if (auto unknown = uneven(situation); !unknown.empty()) {
    return {{}, {{"NCCL_IB_HCA", std::move(unknown)}}, {}};
  }
  if (taken.empty()) return {};
  const auto unnamed = [&](int i) { return !is_named(situation.nic(i)); };
  const auto entries = entries_of(situation);
  if (std::any_of(nics.used.begin(), nics.used.end(), unnamed)) {
    std::vector<std::string> names;
    for (const int i : nics.used) names.push_back(shown_name(situation.machine, i));
    return {{},
            {{"NCCL_IB_HCA",
              fmt::format("this job should use {}, but the recording does not name the devices: "
                          "add `ibdev2netdev` or the NIC legend",
                          fmt::join(names, ", "))}},
            {}};
  }
  if (entries.size() > kMostEntries) {
    return {
        {},
        {{"NCCL_IB_HCA", fmt::format("NCCL reads at most {} entries and {} ports are to be used",
                                     kMostEntries, entries.size())}},
        {}};
  }
  Advice advice{.variable = "NCCL_IB_HCA",
                .value = fmt::format("={}", fmt::join(entries, ",")),
                .reason = fmt::format("NCCL uses every active port by itself, and would use {} too",
                                      fmt::join(taken, ", ")),
                .evidence = evidence_of(situation),
                .confidence = states_known ? Confidence::high : Confidence::medium};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
