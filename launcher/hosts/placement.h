// Ranks to hosts: how many workers each host of an allocation has, and on which of its slots.
//
// Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "launcher/hosts/allocation.h"

namespace lockstep::launcher {

// The user asked for workers that cannot be: exit code 2. One sentence, and what to do.
class PlacementError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether workers compute on GPUs.
enum class GpuUse {
  kNone,     // a job on CPUs: GPUs count nothing
  kPerhaps,  // a program of the user's: a worker a GPU unless told, but no limit
  kUsed,     // a job on GPUs: GPUs are the slots of a host that states none
};

enum class Oversubscription { kRefused, kAllowed };

struct WorkerRequest {
  std::optional<std::int64_t> total;     // -n
  std::optional<std::int64_t> per_host;  // --per-host
  Oversubscription oversubscription = Oversubscription::kRefused;
  GpuUse gpus = GpuUse::kNone;
  std::vector<std::uint32_t> host_gpus;  // visible ones of each host of the allocation
};

struct HostPlacement {
  std::size_t host = 0;  // in Allocation::hosts
  std::uint32_t first_rank = 0;
  std::uint32_t local_world = 0;  // at least 1
  // Of each local rank: the index of its device among the host's GPUs, else its slot. With more
  // workers than slots they go round.
  std::vector<std::uint32_t> slots;

  bool operator==(const HostPlacement&) const = default;
};

struct Placement {
  std::vector<HostPlacement> hosts;  // those with workers, in the allocation's order
  std::uint32_t world = 0;
  std::string reason;  // of the number: "-n 4", "one a visible GPU", "the slots of --hosts"
};

// Without a number each host has its visible GPUs where they count (no more than the slots that a
// user stated), else its stated slots, else 1 worker. `total` fills hosts to these numbers in their
// order, then goes round those that have room; `per_host` is each host's, and with both the last
// host that is needed has what is left. What a user or batch system states is the limit.
// Ranks are contiguous a host. Cost: linear in hosts and workers, of which there are at most
// kMostSlots. REQUIRES: host_gpus is empty or has one number a host. Errors: PlacementError.
[[nodiscard]] Placement place_workers(const Allocation& allocation, const WorkerRequest& request);

}  // namespace lockstep::launcher
