#include "launcher/hosts/host_room.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::launcher {
namespace {

using Kind = DeviceChoice::Kind;

// GPUs that count; none where they do not.
std::uint32_t counted_gpus(const WorkerRequest& request, std::size_t index) {
  if (request.gpus == GpuUse::kNone || request.host_gpus.empty()) return 0;
  return request.host_gpus[index];
}

void check_choice(const AllocatedHost& host, std::uint32_t there) {
  for (const std::uint32_t device : host.devices.indices) {
    if (device < there) continue;
    throw PlacementError(fmt::format(
        "--{} names device {} of host '{}', which has {}, counted from 0",
        host.devices.kind == Kind::kOnly ? "include" : "exclude", device, host.name, there));
  }
}

std::vector<std::uint32_t> all_but(const AllocatedHost& host, std::uint32_t there) {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t device = 0; device < there; ++device) {
    if (std::ranges::find(host.devices.indices, device) == host.devices.indices.end())
      devices.push_back(device);
  }
  if (devices.empty()) {
    throw PlacementError(
        fmt::format("--exclude leaves none of the {} devices of host '{}': exclude the host", there,
                    host.name));
  }
  return devices;
}

std::vector<std::uint32_t> devices_of(const AllocatedHost& host, std::uint32_t gpus) {
  const std::uint32_t there = gpus > 0 ? gpus : host.slots.value_or(0);
  if (gpus > 0) check_choice(host, gpus);
  if (host.devices.kind == Kind::kOnly) return host.devices.indices;
  if (host.devices.kind == Kind::kAllBut && there == 0) {
    throw PlacementError(fmt::format(
        "--exclude names devices of host '{0}', of which it is not known how many it has: state "
        "them, as in --hosts {0}:8, or use --include",
        host.name));
  }
  return all_but(host, there);
}

}  // namespace

HostRoom room_of(const Allocation& allocation, std::size_t index, const WorkerRequest& request) {
  const AllocatedHost& host = allocation.hosts[index];
  const std::uint32_t gpus = counted_gpus(request, index);
  const bool by_batch = allocation.origin == Allocation::Origin::kBatchSystem;
  HostRoom room;
  room.most = host.max_slots;

  const bool chosen = host.devices.kind != Kind::kAll;
  if (gpus > 0 || host.slots || chosen) room.devices = devices_of(host, gpus);
  const auto devices = static_cast<std::uint32_t>(room.devices.size());

  // A user who states slots or devices means workers; a batch system's tasks may be one a host, of
  // which each is to start a worker a GPU.
  const bool tasks = by_batch && gpus > 0;
  if (host.devices.kind == Kind::kOnly || (chosen && !tasks)) {
    room.limit = devices;
  } else if (host.slots) {
    room.limit = tasks ? std::max(*host.slots, devices) : *host.slots;
  } else if (request.gpus == GpuUse::kUsed && gpus > 0) {
    room.limit = devices;
  }
  if (gpus > 0) {
    room.by = HostRoom::By::kGpus;
    room.usual = std::min(devices, room.limit.value_or(devices));
    return room;
  }
  if (room.limit) {
    room.by = HostRoom::By::kSlots;
    room.usual = *room.limit;
  }
  return room;
}

}  // namespace lockstep::launcher
