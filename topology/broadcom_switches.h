// Broadcom's two-level PCIe switches, which NCCL takes for one.
//
// A Gen4 (1000:c010) or Gen5 (1000:c030) chip shows itself as an outer switch with inner ones below
// it, although what hangs off two inner ones talks within the chip. Source: NCCL 2.28 graph/topo.cc
// (ncclTopoFlattenBcmSwitches). Thread rule: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

// For each switch of `machine` the outer switch it is part of; empty for all others, the outer ones
// among them. Cost: linear in switches and links.
[[nodiscard]] std::vector<std::optional<int>> broadcom_insides(const Machine& machine);

}  // namespace lockstep::topology
