// Batch systems that name a job's hosts in a file or a variable: PBS, LSF, SGE, Cobalt,
// LoadLeveler. One table: which variable, in which format.
//
// Thread rule: pure functions, but for the reader of files, which is given.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

enum class BatchFormat {
  kLineASlot,   // a file; a host's name on a line for each of its slots
  kLineAHost,   // a file; a host's name a line, slots not stated
  kColumns,     // a file; "host slots queue processors"
  kPairsValue,  // the variable's own value; "host slots host slots"
};

struct BatchSystem {
  std::string_view name;      // "PBS"
  std::string_view variable;  // that holds the hosts or the path of their file
  BatchFormat format;
  std::string_view job;  // the variable of the job's id
};

// In the order in which they are asked.
[[nodiscard]] std::span<const BatchSystem> batch_systems();

// Errors: AllocationError with the place.
[[nodiscard]] std::vector<AllocatedHost> read_batch_hosts(const LocatedText& text,
                                                          BatchFormat format);

// REQUIRES: system.variable is set. Errors: AllocationError.
[[nodiscard]] Allocation batch_allocation(const BatchSystem& system, const Environment& environment,
                                          const FileReader& read);

}  // namespace lockstep::launcher
