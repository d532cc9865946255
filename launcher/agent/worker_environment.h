// The environment of a worker, as CONTRACTS.md states it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// What only the worker's host knows.
struct HostFacts {
  std::uint32_t threads = 1;  // what OMP_NUM_THREADS defaults to
  int secret_fd = -1;
  std::string job_id = {};  // what marks the processes of this job on this host
};

// The launcher's environment without rank variables of other launchers, with ours. All else,
// malformed entries included, is kept byte for byte and in its order.
// REQUIRES: local_rank < job.local_world.
[[nodiscard]] std::vector<std::string> worker_environment(const HostJob& job,
                                                          std::uint32_t local_rank,
                                                          const HostFacts& facts);

// Where a worker leaves its error for us: TORCHELASTIC_ERROR_FILE.
[[nodiscard]] std::string error_file(std::string_view run_folder, std::uint32_t rank);
// Where the output of a worker is kept.
[[nodiscard]] std::string log_file(std::string_view run_folder, std::uint32_t rank);

}  // namespace lockstep::launcher
