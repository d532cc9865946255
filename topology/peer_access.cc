#include "topology/peer_access.h"

namespace lockstep::topology {
namespace {

PathKind default_level(const Machine& machine) {
  const Cpu& cpu = machine.cpu;
  const bool amd = cpu.architecture == "x86_64" && cpu.vendor == "AuthenticAMD";
  return amd && machine.gpus.size() <= 2 ? PathKind::SYS : PathKind::PXB;
}

}  // namespace

PeerRule::PeerRule(const Machine& machine, std::optional<PathKind> level)
    : level_(level.value_or(default_level(machine))) {
  // NCCL wants reads and writes; "U", unknown to the driver, is no permission either.
  for (const PeerStatus& peer : machine.peers) {
    if ((peer.capability == 'r' || peer.capability == 'w') && peer.status != "OK")
      refused_.emplace(peer.from, peer.to);
  }
}

PeerAccess PeerRule::access(DeviceId from, DeviceId to, PathKind distance) const {
  if (distance > level_) return PeerAccess::too_far;
  // Through another GPU the driver is asked for the two NVLinks, not for the pair.
  if (distance != PathKind::NVB && refused_.contains({from, to})) return PeerAccess::refused;
  return PeerAccess::direct;
}

}  // namespace lockstep::topology
