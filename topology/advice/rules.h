// The rules: each looks at one variable, says what it should be where NCCL's default is wrong or
// fragile, and is silent elsewhere. One file a rule in topology/advice/rules.
//
// Rules know nothing of what is set already, of versions without their variable, nor of providers:
// advise() does that for all of them. Thread rule: pure functions.
#pragma once

#include <array>
#include <vector>

#include "topology/advice/situation.h"

namespace lockstep::topology {

struct Ruling {
  std::vector<Advice> set;
  std::vector<Unset> unset;
  std::vector<Finding> findings;
};

using Rule = Ruling (*)(const Situation&);

// NCCL_IB_HCA: the exact list of the job's ports, where NCCL would take others too.
[[nodiscard]] Ruling ib_hca(const Situation& situation);

// NCCL_SOCKET_IFNAME: where the interface NCCL takes first is not one other hosts reach, or a
// container's network is among those it takes.
[[nodiscard]] Ruling socket_ifname(const Situation& situation);

// NCCL_SOCKET_FAMILY: IPv6, where the only IPv4 address is link-local.
[[nodiscard]] Ruling socket_family(const Situation& situation);

// NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD: several connections, where TCP is all there is
// and the link is fast. NCCL has its own numbers for the adapters of AWS and Google.
[[nodiscard]] Ruling socket_threads(const Situation& situation);

// NCCL_IB_GID_INDEX: before NCCL 2.21, which took index 0; since then only where two GIDs are of
// one address and NCCL takes the wrong one.
[[nodiscard]] Ruling ib_gid_index(const Situation& situation);

// NCCL_IB_ADDR_FAMILY: IPv6, where the RoCE ports have no IPv4 GID.
[[nodiscard]] Ruling ib_addr_family(const Situation& situation);

// NCCL_IB_QPS_PER_CONNECTION: several, where rails are bonds of two ports, among which one queue
// pair uses one port.
[[nodiscard]] Ruling ib_queue_pairs(const Situation& situation);

// NCCL_IB_TC: never set, since only the switches' owner knows it; asked for on RoCE.
[[nodiscard]] Ruling ib_traffic_class(const Situation& situation);

// NCCL_IB_PCI_RELAXED_ORDERING: on Azure, where NCCL cannot see that it is needed.
[[nodiscard]] Ruling ib_relaxed_ordering(const Situation& situation);

// NCCL_TOPO_FILE: where a virtual switch claims a link that no such switch has; and what to ask
// for where a virtual machine hides its PCI tree.
[[nodiscard]] Ruling topo_file(const Situation& situation);

// NCCL_NET_GDR_LEVEL: never set without a bandwidth test; says that GPUDirect is off where every
// NIC reads PHB.
[[nodiscard]] Ruling net_gdr_level(const Situation& situation);

// NCCL_NET_GDR_C2C: on Grace with NCCL 2.26, which had it but not on.
[[nodiscard]] Ruling net_gdr_c2c(const Situation& situation);

// NCCL_CROSS_NIC: 0, where the fabric's rails are known not to reach each other.
[[nodiscard]] Ruling cross_nic(const Situation& situation);

// NCCL_CUMEM_HOST_ENABLE: off in containers with NCCL 2.24 to 2.26.4, which did not find out by
// themselves that NUMA calls are refused there.
[[nodiscard]] Ruling cumem_host(const Situation& situation);

// NCCL_IGNORE_CPU_AFFINITY: where several NUMA nodes claim the same CPUs.
[[nodiscard]] Ruling ignore_cpu_affinity(const Situation& situation);

// NCCL_PXN_DISABLE: never set; says which GPUs of a matrix reach an adapter through another GPU.
[[nodiscard]] Ruling nic_through_gpu(const Situation& situation);

// In the order in which their settings are shown.
inline constexpr std::array<Rule, 16> kRules = {
    ib_hca,         socket_ifname,  socket_family,    socket_threads,      ib_gid_index,
    ib_addr_family, ib_queue_pairs, ib_traffic_class, ib_relaxed_ordering, topo_file,
    net_gdr_level,  net_gdr_c2c,    cross_nic,        cumem_host,          ignore_cpu_affinity,
    nic_through_gpu};

}  // namespace lockstep::topology
