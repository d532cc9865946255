// Whether two GPUs of a host exchange data directly (P2P), by NCCL's rule.
//
// Source: NCCL 2.28 graph/paths.cc (ncclTopoCheckP2p). What NCCL asks of processes (same host hash,
// same /dev/shm) is taken for granted. Thread rule: a value that does not change.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology {

enum class PeerAccess {
  direct,
  too_far,  // beyond the level
  refused,  // the driver says so; between GPUs on NVLink NCCL stops with an error
};

class PeerRule {
 public:
  // `level`: NCCL_P2P_LEVEL. Where it is not set GPUs as far as PXB talk directly, and as far as
  // SYS on an AMD processor with at most two GPUs.
  explicit PeerRule(const Machine& machine, std::optional<PathKind> level = std::nullopt);

  // `distance` is the kind of the path from one GPU to the other.
  [[nodiscard]] PeerAccess access(DeviceId from, DeviceId to, PathKind distance) const;
  [[nodiscard]] PathKind level() const { return level_; }

 private:
  PathKind level_;
  std::set<std::pair<DeviceId, DeviceId>> refused_;
};

}  // namespace lockstep::topology
