#include "launcher/hosts/host_collection.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep::launcher {

void HostCollection::add_new(AllocatedHost host, Place place, std::string_view remedy) {
  if (const Entry* before = find(host, place); before != nullptr) {
    text_.refuse(place, fmt::format("host '{}' is named twice, first at {}: {}", host.name,
                                    before->host.where, remedy));
  }
  insert(std::move(host), place);
}

void HostCollection::add_slots(AllocatedHost host, Place place) {
  Entry* const before = find(host, place);
  if (before == nullptr) {
    insert(std::move(host), place);
    return;
  }
  const std::uint64_t slots = std::uint64_t{before->host.slots.value_or(0)} + *host.slots;
  check(slots, host, place);
  before->host.slots = static_cast<std::uint32_t>(slots);
}

void HostCollection::add_line(AllocatedHost host, Place place) {
  Entry* entry = find(host, place);
  if (entry == nullptr) {
    entry = &insert(std::move(host), place);
  } else {
    lines_count_ = true;
  }
  ++entry->lines;
  check(std::uint64_t{entry->host.slots.value_or(0)} + entry->lines, entry->host, place);
}

std::vector<AllocatedHost> HostCollection::take() {
  if (entries_.empty())
    throw AllocationError(fmt::format("{}: names no host; expected at least one", text_.name()));
  std::vector<AllocatedHost> hosts;
  hosts.reserve(entries_.size());
  for (Entry& entry : entries_) {
    if (lines_count_ && entry.lines > 0)
      entry.host.slots = entry.host.slots.value_or(0) + entry.lines;
    if (entry.host.max_slots && entry.host.slots.value_or(0) > *entry.host.max_slots) {
      throw AllocationError(fmt::format("{}: host '{}' has {} slots in all, above its maximum {}",
                                        entry.host.where, entry.host.name, *entry.host.slots,
                                        *entry.host.max_slots));
    }
    hosts.push_back(std::move(entry.host));
  }
  return hosts;
}

// Two users of one host would be two agents on it, which the ranks' contract does not know.
HostCollection::Entry* HostCollection::find(const AllocatedHost& host, Place place) {
  const auto found = index_.find(host.name);
  if (found == index_.end()) return nullptr;
  Entry& entry = entries_[found->second];
  if ((!host.user.empty() && host.user != entry.host.user) ||
      (host.port != 0 && host.port != entry.host.port)) {
    text_.refuse(place, fmt::format("host '{}' has another user or port than at {}: state them on "
                                    "its first mention",
                                    host.name, entry.host.where));
  }
  return &entry;
}

HostCollection::Entry& HostCollection::insert(AllocatedHost host, Place place) {
  if (entries_.size() == kMostHosts)
    text_.refuse(place, fmt::format("more than {} hosts, which is the most", kMostHosts));
  index_.emplace(host.name, entries_.size());
  entries_.push_back({.host = std::move(host)});
  return entries_.back();
}

void HostCollection::check(std::uint64_t slots, const AllocatedHost& host, Place place) const {
  if (slots > kMostSlots)
    text_.refuse(place, fmt::format("host '{}' has more than {} slots, which is the most",
                                    host.name, kMostSlots));
}

}  // namespace lockstep::launcher
