#include "launcher/hosts/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "launcher/hosts/host_room.h"

namespace lockstep::launcher {
namespace {

using Counts = std::vector<std::uint32_t>;  // workers of each host

std::string number_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::optional<std::uint32_t> checked(std::optional<std::int64_t> number, std::string_view flag) {
  if (!number) return std::nullopt;
  if (*number >= 1 && *number <= std::int64_t{kMostSlots})
    return static_cast<std::uint32_t>(*number);
  throw PlacementError(fmt::format("{} {}: expected 1 to {} workers", flag, *number, kMostSlots));
}

bool below(std::uint32_t count, std::optional<std::uint32_t> limit) {
  return !limit || count < *limit;
}

// Goes round the hosts whose room `limit` says, one worker each, until `left` are placed or no host
// has room. Returns those that found none.
template <typename Limit>
std::uint32_t go_round(Counts& counts, std::uint32_t left, Limit limit) {
  std::vector<std::size_t> open(counts.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  while (left > 0) {
    std::erase_if(open, [&](std::size_t host) { return !below(counts[host], limit(host)); });
    if (open.empty()) return left;
    for (const std::size_t host : open) {
      if (left == 0) break;
      ++counts[host];
      --left;
    }
  }
  return 0;
}

class Placer {
 public:
  Placer(const Allocation& allocation, const WorkerRequest& request)
      : allocation_(allocation), request_(request) {
    if (!request.host_gpus.empty() && request.host_gpus.size() != allocation.hosts.size())
      throw std::invalid_argument("place_workers: one number of GPUs a host was expected");
    for (std::size_t i = 0; i < allocation.hosts.size(); ++i)
      rooms_.push_back(room_of(allocation, i, request));
  }

  Placement place() {
    const auto total = checked(request_.total, "-n");
    const auto per_host = checked(request_.per_host, "--per-host");
    Placement placement;
    Counts counts;
    if (per_host) {
      counts = by_host(*per_host, total);
      placement.reason = fmt::format("--per-host {}", *per_host);
      if (total) placement.reason = fmt::format("-n {}, {}", *total, placement.reason);
    } else if (total) {
      counts = by_total(*total);
      placement.reason = fmt::format("-n {}", *total);
    } else {
      for (const HostRoom& room : rooms_) counts.push_back(room.usual);
      placement.reason = usual_reason();
    }
    number_ranks(counts, placement);
    return placement;
  }

 private:
  bool may_oversubscribe() const { return request_.oversubscription == Oversubscription::kAllowed; }

  Counts by_total(std::uint32_t total) const {
    Counts counts;
    std::uint32_t left = total;
    for (const HostRoom& room : rooms_) {
      counts.push_back(std::min(room.usual, left));
      left -= counts.back();
    }
    left = go_round(counts, left, [&](std::size_t host) { return rooms_[host].limit; });
    if (left > 0 && !may_oversubscribe()) {
      throw PlacementError(
          fmt::format("-n {}: {} ({}) have room for {}: ask for no more, or give --oversubscribe",
                      total, number_of(rooms_.size(), "host"), allocation_.source, total - left));
    }
    left = go_round(counts, left, [&](std::size_t host) { return rooms_[host].most; });
    if (left > 0) {
      throw PlacementError(fmt::format("-n {}: the max_slots of {} ({}) are {} in all", total,
                                       number_of(rooms_.size(), "host"), allocation_.source,
                                       total - left));
    }
    return counts;
  }

  Counts by_host(std::uint32_t each, std::optional<std::uint32_t> total) const {
    if (!total) {
      Counts counts(rooms_.size(), each);
      check_each(counts);
      return counts;
    }
    if (*total < each) {
      throw PlacementError(fmt::format(
          "-n {} and --per-host {} differ: fewer workers in all than one host is to have", *total,
          each));
    }
    const std::size_t needed = (std::size_t{*total} + each - 1) / each;
    if (needed > rooms_.size()) {
      throw PlacementError(fmt::format("-n {} and --per-host {} differ: {} needed, {} there ({})",
                                       *total, each, number_of(needed, "host"), rooms_.size(),
                                       allocation_.source));
    }
    Counts counts(rooms_.size(), 0);
    std::fill_n(counts.begin(), needed, each);
    counts[needed - 1] = *total - each * static_cast<std::uint32_t>(needed - 1);
    check_each(counts);
    return counts;
  }

  void check_each(const Counts& counts) const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const HostRoom& room = rooms_[i];
      const AllocatedHost& host = allocation_.hosts[i];
      if (room.most && counts[i] > *room.most) {
        throw PlacementError(fmt::format("--per-host {}: host '{}' has max_slots={} ({})",
                                         counts[i], host.name, *room.most, host.where));
      }
      if (room.limit && counts[i] > *room.limit && !may_oversubscribe()) {
        throw PlacementError(fmt::format(
            "--per-host {}: host '{}' has {} ({}): ask for no more, or give --oversubscribe",
            counts[i], host.name, number_of(*room.limit, "slot"), host.where));
      }
    }
  }

  std::string usual_reason() const {
    const auto by = [&](HostRoom::By source) {
      return std::ranges::any_of(rooms_, [&](const HostRoom& room) { return room.by == source; });
    };
    if (by(HostRoom::By::kGpus)) return "one a visible GPU";
    if (by(HostRoom::By::kSlots)) return fmt::format("the slots of {}", allocation_.source);
    const bool looked = request_.gpus != GpuUse::kNone && !request_.host_gpus.empty();
    return looked ? "no GPU is visible" : "one a host";
  }

  void number_ranks(const Counts& counts, Placement& placement) const {
    const std::uint64_t world = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (world > kMostSlots) {
      throw PlacementError(fmt::format("{} workers on {} ({}): at most {} can be", world,
                                       number_of(rooms_.size(), "host"), allocation_.source,
                                       kMostSlots));
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      HostPlacement host{
          .host = i, .first_rank = placement.world, .local_world = counts[i], .slots = {}};
      const std::vector<std::uint32_t>& devices = rooms_[i].devices;
      for (std::uint32_t local = 0; local < counts[i]; ++local)
        host.slots.push_back(devices.empty() ? local : devices[local % devices.size()]);
      placement.world += counts[i];
      placement.hosts.push_back(std::move(host));
    }
  }

  const Allocation& allocation_;
  const WorkerRequest& request_;
  std::vector<HostRoom> rooms_;
};

}  // namespace

Placement place_workers(const Allocation& allocation, const WorkerRequest& request) {
  return Placer(allocation, request).place();
}

}  // namespace lockstep::launcher
