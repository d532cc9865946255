// Which RDMA ports of a host a job should use, and why the others not.
//
// Thread rule: pure functions of values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/advice/advice.h"

namespace lockstep::topology {

// The link layer of an RDMA port: infiniband, roce, or unknown where only its name says that it is
// one. Nothing: NCCL's verbs transport does not see it (a plain Ethernet adapter, EFA).
[[nodiscard]] std::optional<NicKind> rdma_layer(const Nic& nic);

// Whether a recording gives the device's real name; "NIC6" of a matrix without a legend is none.
[[nodiscard]] bool is_named(const Nic& nic);

// The device's name for people; "NIC6" where the recording does not name it.
[[nodiscard]] std::string shown_name(const Machine& machine, int nic);

// Near enough for GPUDirect at NCCL's default level: PXB or better, or P2C.
[[nodiscard]] bool is_near(PathKind kind);

struct NicChoice {
  std::vector<int> used;  // in the order of their names, as people count
  std::vector<LeftOut> left_out;
};

// Leaves out, in this order: what is down; bonds that no GPU needs, single ports being near; the
// link layer that serves less (InfiniBand wins a tie); ports of half the fastest rate or less;
// ports far from every GPU where each GPU has a near one, and those of GPUs the job does not use.
// Where no distance is known none is left out for it.
[[nodiscard]] NicChoice choose_nics(const Machine& machine, const PathTable& paths,
                                    const std::vector<int>& gpus);

}  // namespace lockstep::topology
