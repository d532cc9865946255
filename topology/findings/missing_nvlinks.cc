#include <fmt/format.h>

#include <algorithm>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

// Links in use: those that are recorded, or the ports that are up.
int links_of(const Machine& machine, const NvlinkCounts& counts, std::size_t gpu) {
  const auto up = std::ranges::count(machine.gpus[gpu].nvlinks, true, &NvlinkPort::active);
  return std::max(counts.all[gpu], static_cast<int>(up));
}

}  // namespace

std::vector<Finding> missing_nvlinks(const Machine& machine) {
  std::vector<Finding> found;
  const NvlinkCounts counts = count_nvlinks(machine);
  if (counts.shape == NvlinkShape::bridges) return found;  // dead_bridges judges pairs
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    if (links_of(machine, counts, gpu) > 0) continue;
    // Of a GPU whose ports a recording does not list it says nothing.
    if (counts.shape == NvlinkShape::none && machine.gpus[gpu].nvlinks.empty()) continue;
    int peers = 0;
    for (std::size_t peer = 0; peer < machine.gpus.size(); ++peer) {
      if (are_alike(machine.gpus[gpu], machine.gpus[peer]) && links_of(machine, counts, peer) > 0)
        ++peers;
    }
    // One peer alone may be linked to a GPU that is not here.
    if (peers < 2) continue;
    const DeviceId id{DeviceKind::gpu, static_cast<int>(gpu)};
    const bool certain =
        counts.shape != NvlinkShape::mesh && !machine.system.virtual_machine.value_or(false);
    found.push_back(
        {.severity = certain ? Severity::error : Severity::warning,
         .code = "missing-nvlink",
         .message = fmt::format("{} has no NVLink, {} GPUs like it have them: all traffic with it "
                                "takes PCIe, and NCCL slows down to that.",
                                name_of(machine, id), peers),
         .where = to_string(id),
         .remedy = "Look at `nvidia-smi nvlink -s` and at the state of the fabric manager, restart "
                   "the host, and leave this GPU out of jobs (CUDA_VISIBLE_DEVICES) until it is "
                   "repaired."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
