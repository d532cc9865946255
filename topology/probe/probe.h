// Reads the live host.
//
// Needs no root and no GPU library; in a container or a virtual machine it reports what it could
// not read as info findings "unreadable" and guesses nothing. NVML is opened only where an NVIDIA
// GPU is on the bus. Cost: well under a second, but for NVML's own start. Thread rule: one thread;
// reads nothing global but what the options leave empty. Errors: none that come from a host's
// files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "topology/machine.h"
#include "topology/probe/nccl_settings.h"

namespace lockstep::topology {

struct ProbeOptions {
  // Where the host's /sys, /proc, /etc, /dev and /run lie. Only for "/" are the kernel and hwloc
  // asked for what files do not tell (addresses of interfaces).
  std::filesystem::path root = "/";
  std::optional<Environment> environment;  // empty: this process's
  std::string home;  // the user's, for .nccl.conf; empty: as the password database has it for "/",
                     // else the environment's HOME
  std::string nvml_library = "libnvidia-ml.so.1";
};

[[nodiscard]] Machine probe(const ProbeOptions& options = {});

}  // namespace lockstep::topology
