#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

std::vector<DeviceId> rdma_ports(const Machine& machine) {
  std::vector<DeviceId> ports;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (may_carry_rdma(nic) && nic.state != NicState::down)
      ports.push_back({DeviceKind::nic, static_cast<int>(i)});
  }
  return ports;
}

// nvidia-smi tells two root ports of a node (NODE) from one host bridge (PHB); NCCL does not.
bool is_host_bridge(const Path& path) {
  return path.label.empty() ? path.kind == PathKind::PHB : path.label == "PHB";
}

template <typename Test>
bool every_gpu_to(const Machine& machine, const PathTable& paths,
                  const std::vector<DeviceId>& ports, Test test) {
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    for (const DeviceId port : ports) {
      if (!test(paths.between({DeviceKind::gpu, static_cast<int>(gpu)}, port))) return false;
    }
  }
  return true;
}

bool every_two(const PathTable& paths, const std::vector<DeviceId>& ports) {
  for (std::size_t a = 0; a < ports.size(); ++a) {
    for (std::size_t b = a + 1; b < ports.size(); ++b) {
      if (!is_host_bridge(paths.between(ports[a], ports[b]))) return false;
    }
  }
  return true;
}

// On Grace a GPU reaches its adapter through its CPU, by C2C: SYS in a matrix is as it should be.
bool is_grace(const Machine& machine) {
  return machine.cpu.architecture == "arm64" ||
         std::ranges::count(machine.links, LinkKind::c2c, &Link::kind) > 0 ||
         std::ranges::any_of(machine.gpus,
                             [](const Gpu& gpu) { return gpu.memory_numa.has_value(); });
}

}  // namespace

std::vector<Finding> gpu_nic_distance(const Machine& machine, const PathTable& paths) {
  const std::vector<DeviceId> ports = rdma_ports(machine);
  if (machine.gpus.empty() || ports.empty() || is_grace(machine)) return {};
  // Boards with NVSwitches have a PCIe switch for each GPU or two.
  const bool has_switches = count_nvlinks(machine).shape == NvlinkShape::fabric ||
                            machine.system.virtual_machine.value_or(false);
  if (has_switches && machine.gpus.size() > 1 && ports.size() > 1 &&
      every_gpu_to(machine, paths, ports, is_host_bridge) && every_two(paths, ports)) {
    return {
        {.severity = Severity::warning,
         .code = "hidden-pci-topology",
         .message = fmt::format("Each of {} GPUs is PHB from each of {} network ports: the PCIe "
                                "switches are hidden, so which port is near which GPU is "
                                "unknown, and at its default level (PXB) NCCL does not use "
                                "GPUDirect RDMA.",
                                machine.gpus.size(), ports.size()),
         .where = machine.name,
         .remedy = "Give NCCL the host's topology in NCCL_TOPO_FILE; NCCL_NET_GDR_LEVEL=PHB is "
                   "a stop-gap, after a bandwidth test."}};
  }
  if (every_gpu_to(machine, paths, ports,
                   [](const Path& path) { return path.kind == PathKind::SYS; })) {
    return {{.severity = Severity::warning,
             .code = "distant-nic",
             .message = fmt::format(
                 "No GPU has {} on its own socket: all traffic to the network "
                 "crosses the CPUs, and NCCL does not use GPUDirect RDMA.",
                 ports.size() == 1 ? name_of(machine, ports.front()) : "a network port"),
             .where = to_string(ports.front()),
             .remedy = "Move the card to a slot of the socket, or the switch, of the GPUs."}};
  }
  return {};
}

}  // namespace lockstep::topology::findings
