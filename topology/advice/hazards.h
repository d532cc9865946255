// Values that are wrong on any machine, or do harm on this one.
//
// Settings that somebody made are judged by it, and the writers refuse to write what it names.
// Thread rule: pure functions. Sources: NCCL user guide; facts of public threads named in the code.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topology/advice/nccl_version.h"
#include "topology/machine.h"

namespace lockstep::topology {

struct HazardContext {
  NcclVersion nccl = kAssumedNccl;
  // Whether two GIDs of one address make NCCL_IB_GID_INDEX necessary.
  bool duplicate_gid = false;
  bool crosses_hosts = true;
  // Null: nothing is known of the machine, and only what is wrong everywhere is named.
  const Machine* machine = nullptr;
};

enum class HazardScope {
  everywhere,
  unmanaged,  // not on machines of a provider that manages the variable
};

struct Hazard {
  std::string says;        // what is wrong, one sentence without a remedy
  std::string correction;  // the value that was meant, where that follows; else empty
  HazardScope scope = HazardScope::everywhere;
};

// What is wrong with `setting`; empty: nothing. `all` are the settings in force beside it (it may
// be among them), for values that are wrong together.
[[nodiscard]] std::vector<Hazard> hazards_of(const Setting& setting, std::span<const Setting> all,
                                             const HazardContext& context);

// What to do about them, one thing a variable: the value that corrects them all, where there is one
// that is no hazard itself, else to unset it. REQUIRES: `hazards` are those of `setting`, some.
[[nodiscard]] std::string remedy_of(const Setting& setting, std::span<const Hazard> hazards,
                                    std::span<const Setting> all, const HazardContext& context);

}  // namespace lockstep::topology
