// In what the hosts of a cluster may differ.
//
// Thread rule: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology {

struct Aspect {
  std::string_view code;  // of the finding
  std::string_view what;  // as a sentence's subject: "NCCL versions"
  Severity severity = Severity::warning;
  std::string_view remedy;
  // What a host says of it, as it is printed; empty where the host does not say.
  std::function<std::string(const Machine& host)> value;
};

// Each list from the coarse to the fine: number, then products.
[[nodiscard]] std::vector<Aspect> gpu_aspects();
// Number, then names, then those that are up. Virtual functions are not counted.
[[nodiscard]] std::vector<Aspect> nic_aspects();
// Of driver, NCCL and kernel, each for itself.
[[nodiscard]] std::vector<Aspect> version_aspects();

}  // namespace lockstep::topology
