#include "topology/merge/groups.h"

#include <algorithm>

namespace lockstep::topology::merging {
namespace {

enum class ByPosition { never, last };

// How devices of a kind are told: each of `same` in its turn over all devices, the surest first.
// What `differ` says is never one device.
template <typename Device>
struct Identity {
  std::vector<bool (*)(const Device&, const Device&)> same;
  bool (*differ)(const Device&, const Device&);
  ByPosition position = ByPosition::never;
};

template <typename T>
bool both_and_same(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a == *b;
}

template <typename T>
bool both_and_other(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

bool same_text(const std::string& a, const std::string& b) {
  return !a.empty() && a == b;
}

template <typename Device>
bool same_address(const Device& a, const Device& b) {
  return both_and_same(a.pci.address, b.pci.address);
}

template <typename Device>
bool other_address(const Device& a, const Device& b) {
  return both_and_other(a.pci.address, b.pci.address);
}

bool other_gpu(const Gpu& a, const Gpu& b) {
  const bool other_uuid = !a.uuid.empty() && !b.uuid.empty() && a.uuid != b.uuid;
  return other_address(a, b) || other_uuid;
}

bool same_uuid(const Gpu& a, const Gpu& b) {
  return same_text(a.uuid, b.uuid);
}

bool other_port(const Nic& a, const Nic& b) {
  return other_address(a, b) || both_and_other(a.port, b.port);
}

bool same_name(const Nic& a, const Nic& b) {
  return same_text(a.name, b.name);
}

// One recording knows the RDMA device, the other its interface only. Two RDMA devices of one bond
// are not one for having the same interface.
bool same_interface(const Nic& a, const Nic& b) {
  return same_text(a.name, b.netdev) || same_text(a.netdev, b.name);
}

// Of the ports at one address, the one of that name.
bool same_address_and_name(const Nic& a, const Nic& b) {
  return same_address(a, b) && (same_name(a, b) || same_interface(a, b));
}

template <typename Device>
class Grouper {
 public:
  Grouper(std::span<const Machine> parts, std::vector<Device> Machine::*list,
          Identity<Device> identity)
      : parts_(parts), list_(list), identity_(std::move(identity)) {}

  Grouping group() {
    for (std::size_t part = 0; part < parts_.size(); ++part) add(part);
    return std::move(grouping_);
  }

 private:
  static constexpr std::size_t kNoGroup = ~std::size_t{0};

  void add(std::size_t part) {
    const std::vector<Device>& devices = parts_[part].*list_;
    std::vector<std::size_t> place(devices.size(), kNoGroup);
    std::vector<char> taken(grouping_.groups.size());
    const auto put = [&](std::size_t device, std::size_t group) {
      place[device] = group;
      taken[group] = 1;
    };
    for (const auto same : identity_.same) {
      for (std::size_t d = 0; d < devices.size(); ++d) {
        for (std::size_t g = 0; g < taken.size() && place[d] == kNoGroup; ++g) {
          if (taken[g] == 0 && any(g, devices[d], same) && !any(g, devices[d], identity_.differ))
            put(d, g);
        }
      }
    }
    for (std::size_t d = 0; d < devices.size() && identity_.position == ByPosition::last; ++d) {
      if (place[d] == kNoGroup && d < taken.size() && taken[d] == 0 &&
          !any(d, devices[d], identity_.differ))
        put(d, d);
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (place[d] == kNoGroup) {
        place[d] = grouping_.groups.size();
        grouping_.groups.emplace_back();
      }
      grouping_.groups[place[d]].push_back({part, d});
    }
    grouping_.place.push_back(std::move(place));
  }

  bool any(std::size_t group, const Device& device,
           bool (*test)(const Device&, const Device&)) const {
    return std::ranges::any_of(grouping_.groups[group], [&](Member member) {
      return test((parts_[member.part].*list_)[member.index], device);
    });
  }

  std::span<const Machine> parts_;
  std::vector<Device> Machine::*list_;
  Identity<Device> identity_;
  Grouping grouping_;
};

const Grouping* grouping_of(const Groupings& all, DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return &all.gpus;
    case DeviceKind::nic:
      return &all.nics;
    case DeviceKind::pcie_switch:
      return &all.switches;
    case DeviceKind::nvswitch:
      return &all.nvswitches;
    case DeviceKind::numa:
      break;
  }
  return nullptr;
}

}  // namespace

std::optional<DeviceId> Groupings::place_of(std::size_t part, DeviceId id) const {
  const Grouping* grouping = grouping_of(*this, id.kind);
  if (grouping == nullptr) return id;
  const auto& place = grouping->place[part];
  if (id.index < 0 || static_cast<std::size_t>(id.index) >= place.size()) return std::nullopt;
  return DeviceId{id.kind, static_cast<int>(place[static_cast<std::size_t>(id.index)])};
}

Groupings group_devices(std::span<const Machine> parts) {
  Groupings all;
  all.gpus = Grouper<Gpu>(parts, &Machine::gpus,
                          {.same = {same_address<Gpu>, same_uuid},
                           .differ = other_gpu,
                           .position = ByPosition::last})
                 .group();
  all.nics =
      Grouper<Nic>(parts, &Machine::nics,
                   {.same = {same_address_and_name, same_address<Nic>, same_name, same_interface},
                    .differ = other_port,
                    .position = ByPosition::never})
          .group();
  all.switches = Grouper<Switch>(parts, &Machine::switches,
                                 {.same = {same_address<Switch>},
                                  .differ = other_address<Switch>,
                                  .position = ByPosition::never})
                     .group();
  all.nvswitches = Grouper<Switch>(parts, &Machine::nvswitches,
                                   {.same = {same_address<Switch>},
                                    .differ = other_address<Switch>,
                                    .position = ByPosition::last})
                       .group();
  return all;
}

}  // namespace lockstep::topology::merging
