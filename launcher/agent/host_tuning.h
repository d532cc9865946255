// What an agent finds out about its host while the others are still being reached, and tells NCCL
// because of it.
//
// The host is probed on a thread of its own. Thread rule: one thread. Cost: tens of milliseconds,
// hidden as far as the rest of the start takes as long; NVML's own start where there is an NVIDIA
// GPU.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "launcher/protocol/message.h"
#include "topology/machine.h"

namespace lockstep::launcher {

struct Tuning {
  // NAME=value for workers: the advice, but for what `job.environment` has already.
  std::vector<std::string> environment;
  std::string explanation;            // each setting with its reason, for people
  std::chrono::milliseconds probe{};  // how long the host was looked at
};

class HostProbe {
 public:
  // Starts to look at this host.
  HostProbe();

  // Waits for the end.
  [[nodiscard]] const topology::Machine& machine() const { return seen_.get().machine; }

  // Waits for the end and returns the advice for a job. Writes topology.json and nccl.env (and
  // nccl-topology.xml where NCCL needs one) into the run folder: the first host under these names,
  // another with its host rank in them, since they may share the folder. May be called again for
  // another attempt. Errors: what the probe or the files throw.
  [[nodiscard]] Tuning tune(const HostJob& job);

 private:
  struct Seen {
    topology::Machine machine;
    std::chrono::milliseconds took{};
  };
  std::shared_future<Seen> seen_;
};

}  // namespace lockstep::launcher
