// Ports and findings as lines, for tests to compare.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::topology::test {

// "mlx5_0:1 active LinkUp 400 infiniband".
inline std::string line_of(const Nic& nic) {
  return fmt::format("{}:{} {} {} {:g} {}", nic.name, nic.port.value_or(0), to_string(nic.state),
                     nic.physical_state, nic.rate_Gbps.value_or(0), to_string(nic.kind));
}

inline std::vector<std::string> lines_of(const Machine& machine) {
  std::vector<std::string> lines;
  for (const Nic& nic : machine.nics) lines.push_back(line_of(nic));
  return lines;
}

inline std::vector<std::string> codes_of(const Machine& machine) {
  std::vector<std::string> codes;
  for (const Finding& finding : machine.findings) codes.push_back(finding.code);
  return codes;
}

}  // namespace lockstep::topology::test
