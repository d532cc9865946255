#include <fmt/format.h>

#include <algorithm>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"
#include "topology/pci_vendors.h"

namespace lockstep::topology::findings {
namespace {

// EFA brings its own way to GPU memory.
bool has_verbs(const Machine& machine) {
  return std::ranges::any_of(machine.nics, [](const Nic& nic) {
    return nic.kind == NicKind::infiniband || nic.kind == NicKind::roce;
  });
}

bool has_nvidia_gpus(const Machine& machine) {
  return std::ranges::any_of(
      machine.gpus, [](const Gpu& gpu) { return !gpu.pci.vendor || *gpu.pci.vendor == kNvidia; });
}

}  // namespace

std::vector<Finding> missing_drivers(const Machine& machine) {
  const System& system = machine.system;
  std::vector<Finding> found;
  const bool no_way = system.peer_memory == false && system.dmabuf == false;
  if (has_nvidia_gpus(machine) && has_verbs(machine) && no_way) {
    found.push_back({.severity = Severity::warning,
                     .code = "no-gpudirect",
                     .message = "Neither nvidia_peermem is loaded nor can GPU memory be exported "
                                "(DMA-BUF): every byte to the network goes through host memory.",
                     .where = machine.name,
                     .remedy = "Run `modprobe nvidia-peermem`, or use the open kernel modules with "
                               "Linux 5.12 or newer; both ends need it."});
  }
  if (has_verbs(machine) && system.verbs_devices == false) {
    found.push_back({.severity = Severity::warning,
                     .code = "no-verbs-devices",
                     .message = "RDMA adapters are there, but /dev/infiniband/uverbs* is not: NCCL "
                                "falls back to TCP.",
                     .where = machine.name,
                     .remedy = "Give the container its devices (--device=/dev/infiniband), or load "
                               "ib_uverbs on the host."});
  }
  // The manager of a guest or a container runs on its host.
  const bool is_guest = system.virtual_machine.value_or(false) || system.container.value_or(false);
  if (!machine.nvswitches.empty() && system.fabric_manager == false && !is_guest) {
    found.push_back({.severity = Severity::error,
                     .code = "no-fabric-manager",
                     .message = fmt::format("The host has {} NVSwitches, but nvidia-fabricmanager "
                                            "does not run: GPUs fail to initialise or have no "
                                            "NVLink.",
                                            machine.nvswitches.size()),
                     .where = machine.name,
                     .remedy = "Run `systemctl start nvidia-fabricmanager`, in the version of the "
                               "driver; NCCL_NVLS_ENABLE=0 helps only meanwhile."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
