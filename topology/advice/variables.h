// The variables NCCL reads: since which version, and what their values may be.
//
// Thread rule: pure functions over a constant table. Sources: the names in libnccl 2.28.9 and
// 2.30.7, NCCL's user guide for "since" and ranges. Names that only tests or tools read are absent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "topology/advice/nccl_version.h"

namespace lockstep::topology {

enum class Grammar {
  text,        // a path, a name, a list of its own kind
  integer,     // within [least, most]
  words,       // one of `words`, in any case
  level,       // a path kind by name; numbers are an old form
  devices,     // NCCL_IB_HCA's list
  interfaces,  // NCCL_SOCKET_IFNAME's list
  algorithms,  // "ring,tree;allreduce:^tree"
  protocols,   // the same with protocols
};

struct Variable {
  std::string_view name;
  NcclVersion since{};  // all zero: in every version Lockstep takes
  NcclVersion until{};  // the first version without it; all zero: still there
  Grammar grammar = Grammar::text;
  long least = 0, most = 0;
  std::string_view words{};  // separated by '|'
};

[[nodiscard]] std::span<const Variable> variables();

// Null where NCCL has no variable of that name.
[[nodiscard]] const Variable* find_variable(std::string_view name);

[[nodiscard]] bool exists_in(const Variable& variable, NcclVersion version);

// The name that somebody who wrote `name` most likely meant, if any is near. Cost: one pass over
// the table, quadratic in the length of a name, which is cut at 64 characters.
[[nodiscard]] std::optional<std::string_view> nearest_variable(std::string_view name);

// Whether others than NCCL read it, plug-ins, frameworks or builds: nothing is said about those.
[[nodiscard]] bool is_foreign(std::string_view name);

struct ValueFault {
  std::string says;        // one sentence
  std::string correction;  // the value that was meant, where that follows; else empty
};

// What is wrong with the form of a value.
[[nodiscard]] std::optional<ValueFault> fault_of_value(const Variable& variable,
                                                       std::string_view value);

}  // namespace lockstep::topology
