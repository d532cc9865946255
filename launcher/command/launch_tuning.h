// What `lockstep launch` asks this host before its workers start, and tells NCCL because of it.
//
// The host is probed on a thread of its own while the launcher makes ready. Thread rule: one
// thread. Cost: tens of milliseconds, hidden as far as the rest of the start takes as long; NVML's
// own start where there is an NVIDIA GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace lockstep::launcher {

struct Tuning {
  std::vector<std::string>
      environment;                    // NAME=value, for workers; only what nobody has set already
  std::string explanation;            // each setting with its reason, for people
  std::chrono::milliseconds probe{};  // how long the host was looked at
};

class HostProbe {
 public:
  // Starts to look at this host.
  HostProbe();

  // Waits for the end, writes topology.json and nccl.env into `run_folder` (and nccl-topology.xml
  // where NCCL needs one), and returns the advice for a job on this host alone. Call it once.
  // Errors: what the probe or the files throw.
  [[nodiscard]] Tuning finish(const std::filesystem::path& run_folder);

 private:
  struct Seen {
    topology::Machine machine;
    std::chrono::milliseconds took{};
  };
  std::future<Seen> seen_;
};

}  // namespace lockstep::launcher
