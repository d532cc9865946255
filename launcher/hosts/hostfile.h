// Hostfiles: one host a line, in the grammar of Open MPI, MPICH's Hydra or DeepSpeed.
//
// By content: `host:8`, `user=` and `binding=` are Hydra's; `slots=8`, the other keys and comments
// by `//` are Open MPI's, whose grammar reads DeepSpeed's files too and what they mean the same;
// plain names mean the same in all. A file with both kinds is refused, unless the format is given.
//
// Thread rule: pure functions. Errors: AllocationError with file:line:column. Cost: linear.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

struct HostfileReading {
  std::vector<AllocatedHost> hosts;
  std::vector<std::string> notes;  // keys that are known and not used
};

[[nodiscard]] HostfileReading read_hostfile(const LocatedText& text, HostfileFormat format);

// Never kByContent; Open MPI's where nothing tells.
[[nodiscard]] HostfileFormat recognise_hostfile(const LocatedText& text);

// `node1 slots=8 max_slots=16 user_name=me port=22`, blanks around '=' or not; comments by '#',
// '//' and between '/*' and '*/'. A host of several lines has a slot for each. Relative names (+n1,
// +e), exclusions (^node1) and rankfiles are refused.
[[nodiscard]] HostfileReading read_openmpi_hostfile(const LocatedText& text);

// The text with blanks for its comments, all else at its place. Errors: a '/*' without '*/'.
[[nodiscard]] std::string without_openmpi_comments(const LocatedText& text);

// `node1:8 user=me`, comments by '#'. A host of several lines has the sum of their slots.
[[nodiscard]] HostfileReading read_hydra_hostfile(const LocatedText& text);

// `node1 slots=8`; what follows is not looked at; comments are whole lines. No host twice.
[[nodiscard]] HostfileReading read_deepspeed_hostfile(const LocatedText& text);

}  // namespace lockstep::launcher
