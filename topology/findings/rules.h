// The rules by which a machine is judged, one function and one file each.
//
// Every rule is a pure function: the findings of its kind, none where all is well and none where
// the recording does not say. Codes are stable. Sources: NCCL's and NVIDIA's guides, and public
// threads in which the cause of a slow or hanging job was found.
#pragma once

#include <vector>

#include "topology/finding.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology::findings {

// lost-nvlink: a GPU, or a bridged pair, with fewer NVLinks than its peers or than a bridge has.
[[nodiscard]] std::vector<Finding> lost_nvlinks(const Machine& machine);

// inactive-nvlink: a GPU some of whose NVLink ports are inactive while those of its peers are up.
[[nodiscard]] std::vector<Finding> inactive_nvlinks(const Machine& machine);

// missing-nvlink: a GPU without any NVLink among peers that have them. No NVLink at all is no
// fault.
[[nodiscard]] std::vector<Finding> missing_nvlinks(const Machine& machine);

// dead-nvlink-bridge: GPUs without a bridge beside pairs of the same GPU that have one.
[[nodiscard]] std::vector<Finding> dead_bridges(const Machine& machine);

// peer-access-refused: the driver refuses what NVLink would allow (NCCL stops there).
// no-peer-access: it refuses it between GPUs without NVLink.
[[nodiscard]] std::vector<Finding> refused_peers(const Machine& machine);

// narrow-pcie-link, slow-pcie-link: fewer lanes, or slower ones, than device and slot can do.
[[nodiscard]] std::vector<Finding> pcie_links(const Machine& machine);

// slow-virtual-switch: a switch above a GPU or RDMA adapter claims less than 1 GB/s.
// suspicious-switch-uplink: a switch claims an uplink of less than half of a link below it.
[[nodiscard]] std::vector<Finding> switch_uplinks(const Machine& machine);

// acs-redirect, acs-source-validation, access-control-unknown: what bridges do with peer-to-peer
// traffic.
[[nodiscard]] std::vector<Finding> access_control(const Machine& machine);

// identical-cpu-masks, overlapping-cpu-masks, short-cpu-mask, cpu-mask-width.
[[nodiscard]] std::vector<Finding> cpu_masks(const Machine& machine);

// incomplete-processor: a topology file whose cpu elements lack what NCCL requires.
[[nodiscard]] std::vector<Finding> processors(const Machine& machine);

// nic-down: an RDMA port that is not up. ethernet-among-infiniband: a port of another fabric that
// NCCL would use as a rail, where no setting leaves it out; a hint where that is a bond.
[[nodiscard]] std::vector<Finding> nic_states(const Machine& machine);

// duplicate-roce-address: one GID on two interfaces of an adapter.
[[nodiscard]] std::vector<Finding> duplicate_addresses(const Machine& machine);

// shared-subnet: RoCE ports of one host in one IP subnet, so that traffic of one may leave by
// another. A hint, since rules of routing are not read; a warning where the ports are known to
// answer ARP for each other, which goes with no such rules.
[[nodiscard]] std::vector<Finding> shared_subnets(const Machine& machine);

// no-gpudirect, no-verbs-devices, no-fabric-manager: software that the hardware needs.
[[nodiscard]] std::vector<Finding> missing_drivers(const Machine& machine);

// small-shared-memory, low-locked-memory: limits of the system or container.
[[nodiscard]] std::vector<Finding> limits(const Machine& machine);

// iommu-on: an IOMMU that translates, on a machine whose GPUs talk over PCIe; a hint.
[[nodiscard]] std::vector<Finding> iommu(const Machine& machine);

// provider-file-unused, single-numa: a virtual machine that hides its topology, whose provider
// ships a file that NCCL was not told of; the latter also of a matrix that no real machine has.
[[nodiscard]] std::vector<Finding> provider_files(const Machine& machine);

// hidden-pci-topology: every GPU as far from every NIC as any other, in a machine that cannot be
// built so. distant-nic: no RDMA adapter on the socket of any GPU.
[[nodiscard]] std::vector<Finding> gpu_nic_distance(const Machine& machine, const PathTable& paths);

}  // namespace lockstep::topology::findings
