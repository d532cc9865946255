// What is set already on a host: kept, judged by what would have been advised, and reported.
//
// Thread rule: pure functions of values.
#pragma once

#include <span>
#include <vector>

#include "topology/advice/situation.h"

namespace lockstep::topology {

// The settings in force: of each variable of NCCL the first, which is the one NCCL takes.
[[nodiscard]] std::vector<Setting> effective_settings(const System& system);

struct JudgedSettings {
  std::vector<Advice> kept;       // in the order of System::settings
  std::vector<Finding> findings;  // harmful, unknown, without effect, hidden by another
};

[[nodiscard]] JudgedSettings judge_settings(const Situation& situation,
                                            std::span<const Advice> advised);

}  // namespace lockstep::topology
