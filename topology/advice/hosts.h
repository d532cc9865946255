// The advice of several hosts of one job.
//
// Settings are a host's own. One value for the whole cluster is right only where every host needs
// the same one. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/advice/advice.h"

namespace lockstep::topology {

// A variable of which hosts need different values.
struct Disagreement {
  std::string variable;
  // Host and value, in the hosts' order; an empty value: it must stay unset there.
  std::vector<std::pair<std::string, std::string>> values;
};

// By name. What is kept counts with the value it has. Cost: hosts times settings.
[[nodiscard]] std::vector<Disagreement> disagreements(std::span<const HostAdvice> hosts);

// The advice that serves every host as it is, named "all hosts".
// REQUIRES: at least one host. Errors: std::invalid_argument, which names each variable that hosts
// need different values of, with two of the hosts.
[[nodiscard]] HostAdvice for_all_hosts(std::span<const HostAdvice> hosts);

}  // namespace lockstep::topology
