// Everything that is done with text that names hosts, for inputs that nobody wrote.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher::test {

// The grammars: "hostfile" (by content), "hostfile-openmpi", "hostfile-hydra",
// "hostfile-deepspeed", "hosts-flag", "hosts-filter", "slurm-nodes", "slurm-counts", "batch-names",
// "batch-columns".
[[nodiscard]] std::vector<std::string_view> host_pipelines();

// Reads `text` in the grammar, and places workers on what was read. False where it was refused.
// REQUIRES: one of host_pipelines(). Errors: std::logic_error where a promise is broken (a name
// that ssh would take for a flag, a host twice, no slots); any other exception is a fault of what
// was called.
bool run_host_pipeline(std::string_view pipeline, const std::string& text);

}  // namespace lockstep::launcher::test
