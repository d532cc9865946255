// Which CPUs each worker of a host runs on (`lockstep launch --bind`).
//
// Thread rule: pure, but for allowed_cpu_set().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "launcher/protocol/message.h"
#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace lockstep::launcher {

// "none", "core", "numa", "gpu"; nothing for another word.
[[nodiscard]] std::optional<Bind> bind_named(std::string_view name);

// Those that this process may run on. Throws std::system_error.
[[nodiscard]] topology::CpuSet allowed_cpu_set();

struct BindingRequest {
  Bind bind = Bind::kNone;
  std::uint32_t workers = 1;
  topology::CpuSet allowed;
  // Of each worker: its GPU among the machine's, where it is known (see gpus_of_workers()).
  std::vector<std::optional<int>> gpus;
};

// The CPUs of each local rank; an empty set leaves a worker where the agent may run. kCore: an
// equal share of the CPUs in their order, nothing where there are fewer CPUs than workers. kNuma:
// the NUMA nodes go round in blocks, a node's workers share all of its CPUs. kGpu: the node near
// the worker's GPU. Never a CPU that is not allowed.
[[nodiscard]] std::vector<topology::CpuSet> bindings(const BindingRequest& request,
                                                     const topology::Machine& machine);

// The k-th worker has the k-th GPU that CUDA_VISIBLE_DEVICES lets it see (`visible`; nothing: it is
// not set): a number, or a UUID or the beginning of one. A word that names no GPU of the machine (a
// MIG instance, say) stays unknown.
[[nodiscard]] std::vector<std::optional<int>> gpus_of_workers(
    std::optional<std::string_view> visible, const topology::Machine& machine,
    std::uint32_t workers);

}  // namespace lockstep::launcher
