// What an agent makes of its host for each of its workers: CPUs and threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/agent/host_tuning.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

struct WorkerSetting {
  std::string job_id;          // what marks the processes of this job on this host
  std::vector<int> cpus = {};  // on which it may run; empty: as the agent
  std::uint32_t threads = 1;   // what OMP_NUM_THREADS defaults to
};

// One a local rank, as job.bind says. The CPUs that the agent may use, or that workers are bound
// to, are divided among those who share them. Waits for the probe where NUMA nodes or GPUs matter.
// Errors: what the probe throws; std::system_error.
[[nodiscard]] std::vector<WorkerSetting> worker_settings(const HostJob& job,
                                                         const std::string& job_id,
                                                         const HostProbe* probe);

}  // namespace lockstep::launcher
