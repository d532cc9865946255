#include "launcher/hosts/host_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launcher/hosts/host_name.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {
namespace {

constexpr std::size_t kMostDevices = 1024;

struct Chosen {
  Place place;
  std::vector<std::uint32_t> devices;  // empty: the whole host
  bool met = false;                    // the allocation has the host
};

std::vector<std::uint32_t> read_devices(const LocatedText& flag, Word list) {
  std::vector<std::uint32_t> devices;
  for (const Word item : split(list, ',')) {
    devices.push_back(read_number(flag, item, "the index of a device", {0, kMostSlots - 1}));
    if (std::ranges::count(devices, devices.back()) > 1)
      flag.refuse(item.place, fmt::format("device {} is named twice", item.text));
    if (devices.size() > kMostDevices) flag.refuse(item.place, "more than 1024 devices of a host");
  }
  return devices;
}

using Choices = std::unordered_map<std::string, Chosen>;

Choices read_filter(const LocatedText& flag) {
  Choices chosen;
  for (const Word item : split({flag.text(), {}}, '@')) {
    const auto [name, list] = split_at_colon(flag, item);
    const AllocatedHost host = read_host(flag, name);
    Chosen choice{.place = name.place, .devices = {}};
    if (list) choice.devices = read_devices(flag, *list);
    if (!chosen.emplace(host.name, std::move(choice)).second) {
      flag.refuse(name.place, fmt::format("host '{0}' is named twice: write its devices in one "
                                          "list, as in {0}:0,1",
                                          host.name));
    }
  }
  return chosen;
}

// What a batch system states are tasks, not devices.
std::optional<std::uint32_t> stated_devices(const Allocation& allocation,
                                            const AllocatedHost& host) {
  if (allocation.origin == Allocation::Origin::kBatchSystem) return std::nullopt;
  return host.slots;
}

void check_devices(const LocatedText& flag, const AllocatedHost& host, const Chosen& chosen,
                   std::uint32_t slots) {
  for (const std::uint32_t device : chosen.devices) {
    if (device >= slots) {
      flag.refuse(chosen.place,
                  fmt::format("host '{}' has {} slots ({}), of which none is {}: they are counted "
                              "from 0",
                              host.name, slots, host.where, device));
    }
  }
}

// The first host of the flag that the allocation does not have is named.
void check_all_met(const LocatedText& flag, const Choices& chosen, const std::string& source) {
  const Choices::value_type* first = nullptr;
  for (const auto& choice : chosen) {
    if (choice.second.met) continue;
    if (first == nullptr || choice.second.place.column < first->second.place.column)
      first = &choice;
  }
  if (first == nullptr) return;
  flag.refuse(first->second.place,
              fmt::format("host '{}' is not among the hosts of {}", first->first, source));
}

}  // namespace

void apply_filter(Allocation& allocation, Filter filter, std::string_view value) {
  const bool include = filter == Filter::kInclude;
  const LocatedText flag(LocatedText::Kind::kValue, include ? "--include" : "--exclude", value);
  auto chosen = read_filter(flag);
  std::vector<AllocatedHost> left;
  for (AllocatedHost& host : allocation.hosts) {
    const auto found = chosen.find(host.name);
    if (found == chosen.end()) {
      if (!include) left.push_back(std::move(host));
      continue;
    }
    Chosen& choice = found->second;
    choice.met = true;
    const auto stated = stated_devices(allocation, host);
    if (stated) check_devices(flag, host, choice, *stated);
    if (choice.devices.empty()) {
      if (include) left.push_back(std::move(host));
      continue;
    }
    if (!include && stated && choice.devices.size() == *stated) continue;
    host.devices = {include ? DeviceChoice::Kind::kOnly : DeviceChoice::Kind::kAllBut,
                    std::move(choice.devices)};
    left.push_back(std::move(host));
  }
  check_all_met(flag, chosen, allocation.source);
  if (left.empty())
    throw AllocationError(fmt::format("{}: leaves no host of {}", flag.name(), allocation.source));
  allocation.hosts = std::move(left);
}

}  // namespace lockstep::launcher
