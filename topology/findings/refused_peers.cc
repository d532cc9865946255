#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

// What nvidia-smi's words mean.
std::string_view reason_of(std::string_view status) {
  if (status == "CNS") return "the chipset does not support it";
  if (status == "GNS") return "the GPUs do not support it";
  if (status == "TNS") return "the topology does not allow it";
  if (status == "DR") return "it is disabled by a registry key";
  return "it is not supported";
}

bool is_refusal(std::string_view status) {
  return status == "CNS" || status == "GNS" || status == "TNS" || status == "NS" || status == "DR";
}

bool is_gpu(const Machine& machine, DeviceId id) {
  return id.kind == DeviceKind::gpu && is_known(machine, id);
}

}  // namespace

std::vector<Finding> refused_peers(const Machine& machine) {
  const NvlinkCounts counts = count_nvlinks(machine);
  std::vector<Finding> found;
  std::vector<std::string> without;
  std::string status;
  for (const PeerStatus& peer : machine.peers) {
    if (peer.capability != 'r' && peer.capability != 'w') continue;
    if (!is_refusal(peer.status) || !(peer.from < peer.to)) continue;
    if (!is_gpu(machine, peer.from) || !is_gpu(machine, peer.to)) continue;
    const std::string pair = fmt::format("{}-{}", to_string(peer.from), to_string(peer.to));
    const auto from = static_cast<std::size_t>(peer.from.index);
    const auto to = static_cast<std::size_t>(peer.to.index);
    const int links = counts.shape == NvlinkShape::fabric
                          ? std::min(counts.all[from], counts.all[to])
                          : counts.pair[from][to];
    if (links == 0) {
      if (std::ranges::count(without, pair) == 0) without.push_back(pair);
      status = peer.status;
    } else if (std::ranges::count(found, pair, &Finding::where) == 0) {
      found.push_back(
          {.severity = Severity::error,
           .code = "peer-access-refused",
           .message = fmt::format("{} has {} NVLinks, but the driver refuses peer access ({}: {}): "
                                  "NCCL stops with an error there.",
                                  pair, links, peer.status, reason_of(peer.status)),
           .where = pair,
           .remedy =
               "Look for a virtualisation or MIG mode that forbids it and restart the driver; "
               "NCCL_IGNORE_DISABLED_P2P=1 lets NCCL go on without NVLink."});
    }
  }
  if (!without.empty()) {
    found.push_back(
        {.severity = Severity::info,
         .code = "no-peer-access",
         .message = fmt::format("The driver refuses peer access between {} ({}: {}): NCCL copies "
                                "through shared memory.",
                                list_of(without), status, reason_of(status)),
         .where = without.front(),
         .remedy = "Leave NCCL_P2P_LEVEL unset: raising it cannot help."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
