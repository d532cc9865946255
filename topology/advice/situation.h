// What every rule looks at: the machine, the job, and what follows from both.
//
// Thread rule: refers to values that must outlive it; pure functions.
#pragma once

#include <vector>

#include "topology/advice/advice.h"
#include "topology/advice/nccl_version.h"
#include "topology/advice/nics.h"
#include "topology/advice/rails.h"

namespace lockstep::topology {

struct Situation {
  const Machine& machine;
  const PathTable& paths;
  const AdviceOptions& options;
  NcclVersion nccl;
  Provider provider = Provider::none;
  std::vector<int> gpus;  // of the job
  NicChoice nics;
  RailMap rails;

  [[nodiscard]] bool crosses_hosts() const { return options.hosts > 1; }
  [[nodiscard]] const Nic& nic(int index) const {
    return machine.nics[static_cast<std::size_t>(index)];
  }
};

// Errors: as advise().
[[nodiscard]] Situation look_at(const Machine& machine, const PathTable& paths,
                                const AdviceOptions& options);

// The used ports of that link layer.
[[nodiscard]] std::vector<int> used_of(const Situation& situation, NicKind layer);

}  // namespace lockstep::topology
