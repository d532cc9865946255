#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

int active_ports(const Gpu& gpu) {
  return static_cast<int>(std::ranges::count(gpu.nvlinks, true, &NvlinkPort::active));
}

struct Expectation {
  int ports = 0;
  bool is_certain = false;
};

// How many ports of `gpu` should be up: as many as of its best peer. Peers that all leave the same
// number idle are built so. Alone it is measured by its own ports, which a board of modules (SXM)
// uses all, cards with bridges not always.
Expectation expected_of(const Machine& machine, const Gpu& gpu) {
  int best = 0;
  bool has_peers = false;
  for (const Gpu& peer : machine.gpus) {
    if (&peer == &gpu || peer.nvlinks.empty() || !are_alike(gpu, peer)) continue;
    has_peers = true;
    best = std::max(best, active_ports(peer));
  }
  // A part of a machine that was given to a guest has ports that lead to GPUs of others.
  const bool is_guest = machine.system.virtual_machine.value_or(false);
  if (has_peers) return {best, !is_guest};
  const bool is_module = gpu.name.find("SXM") != std::string::npos;
  return {static_cast<int>(gpu.nvlinks.size()), is_module && !is_guest};
}

}  // namespace

std::vector<Finding> inactive_nvlinks(const Machine& machine) {
  std::vector<Finding> found;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const int active = active_ports(gpu);
    const Expectation expected = expected_of(machine, gpu);
    // A GPU whose ports are all down has no NVLink: missing_nvlinks judges it.
    if (active == 0 || active >= expected.ports) continue;
    std::vector<std::string> ports;
    for (const NvlinkPort& port : gpu.nvlinks) {
      if (!port.active) ports.push_back(fmt::format("{}", port.number));
    }
    if (ports.empty()) continue;
    const DeviceId id{DeviceKind::gpu, static_cast<int>(i)};
    found.push_back(
        {.severity = expected.is_certain ? Severity::error : Severity::warning,
         .code = "inactive-nvlink",
         .message =
             fmt::format("{} has {} of {} NVLinks up: link{} {} {} inactive.", name_of(machine, id),
                         active, expected.ports, ports.size() == 1 ? "" : "s", list_of(ports),
                         ports.size() == 1 ? "is" : "are"),
         .where = to_string(id),
         .remedy = "Look at the kernel's log for Xid 74 and at `nvidia-smi nvlink -e`, reset the "
                   "GPU or restart the host, and have the board replaced where the links stay "
                   "down."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
