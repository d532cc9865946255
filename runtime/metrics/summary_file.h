// summary.json as two write it: the trainer, who knows most of it, and the launcher, who knows how
// the run ended.
#pragma once

#include "engine/device/visibility.h"
#include "runtime/metrics/run_folder.h"
#include "runtime/metrics/summary.h"

namespace lockstep::runtime::metrics {

// Adds what `known` says to the folder's summary.json: where a key is missing or null, and status
// and exit also where the run did not end well, whatever the trainer thought. All else is kept; a
// torn file is begun anew. Every key of the contract is there afterwards. Throws
// checkpoint::FileSystemError.
LOCKSTEP_API void complete_summary(const RunFolder& folder, const Summary& known);

}  // namespace lockstep::runtime::metrics
