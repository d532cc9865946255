// NCCL's path kinds and bandwidths looked up in tables, straight from a topology file's elements.
//
// A second way to the same numbers, for tests: no graph is searched. PCI devices stand in a tree,
// so the way between two of them follows from where their chains of switches meet; NVLinks are at
// most two in a row. It shares nothing with topology/paths.h but the names of kinds.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace lockstep::topology::test {

struct RulePath {
  std::string kind;
  double GBps = 0;
  bool known = true;  // false: the file does not say how fast an adapter of it is
};

// By the names of both ends: "GPU0", "NIC3", GPUs and NICs (`net` elements with `dev`, adapters
// without any) in the file's order. The GPU stands first, the lower number first.
using RuleTable = std::map<std::pair<std::string, std::string>, RulePath>;

[[nodiscard]] RuleTable rule_table(const std::string& xml);

}  // namespace lockstep::topology::test
