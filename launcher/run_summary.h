// summary.json, as far as the launcher knows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "launcher/coordinator/outcome.h"
#include "launcher/run_folder.h"

namespace lockstep::launcher {

struct RunFacts {
  std::uint32_t world = 1;
  double started = 0, ended = 0;  // seconds since the Unix epoch
};

// Writes `folder`/summary.json, or corrects the one that the job's trainer wrote: status and exit
// are then replaced where the job did not end well, what is missing is added, all else is
// kept. Replaced in one step, so that a reader finds a whole file. Throws std::system_error.
void write_summary(const RunFolder& folder, const RunFacts& facts, const Outcome& outcome);

}  // namespace lockstep::launcher
