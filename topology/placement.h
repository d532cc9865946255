// Which GPUs of a machine a job of a few should have.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "topology/paths.h"

namespace lockstep::topology {

// The `count` GPUs, of the machine's `gpus` ones, that talk to each other best: their worst pair is
// as good as can be, then the sum over their pairs; of equal sets the one with the lowest ids. A
// pair is better by its path's kind, then by its bandwidth. They stand so that neighbours talk
// well: the lowest first, each next the best to its forerunner. Exact for up to 16 GPUs; beyond,
// sets grown from each GPU and improved by exchanges.
// Cost: up to 16 GPUs at most 12,870 sets; beyond O(gpus^2 count). Errors: std::invalid_argument
// where `count` is not 1 to `gpus`.
[[nodiscard]] std::vector<DeviceId> best_gpus(const PathTable& paths, int gpus, int count);

// What the choice could not take into account, as a sentence's end; empty where it took all: where
// the recording is of PCIe only (`nvidia-smi topo -mp`), whether NVLinks join the GPUs.
[[nodiscard]] std::string placement_caveat(const Machine& machine);

}  // namespace lockstep::topology
