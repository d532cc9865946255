#include "topology/probe/live_host.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::topology {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

void count(const Topology& topology, hwloc_obj_type_t type, std::optional<int>& number) {
  const int found = hwloc_get_nbobjs_by_type(topology.get(), type);
  if (found > 0) number = found;
}

int prefix_length(const std::byte* mask, std::size_t size) {
  int bits = 0;
  for (std::size_t i = 0; i < size; ++i) bits += std::popcount(std::to_integer<unsigned>(mask[i]));
  return bits;
}

// "10.0.0.1/24"; empty for families other than IP.
std::string address_text(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr) return {};
  const int family = entry.ifa_addr->sa_family;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto bytes = [&entry](std::size_t offset, bool mask) {
    const sockaddr* const from = mask ? entry.ifa_netmask : entry.ifa_addr;
    return reinterpret_cast<const std::byte*>(from) + offset;
  };
  std::size_t offset = 0;
  std::size_t size = 0;
  if (family == AF_INET) {
    offset = offsetof(sockaddr_in, sin_addr);
    size = sizeof(in_addr);
  } else if (family == AF_INET6) {
    offset = offsetof(sockaddr_in6, sin6_addr);
    size = sizeof(in6_addr);
  } else {
    return {};
  }
  if (inet_ntop(family, bytes(offset, false), text.data(), text.size()) == nullptr) return {};
  if (entry.ifa_netmask == nullptr) return text.data();
  return fmt::format("{}/{}", text.data(), prefix_length(bytes(offset, true), size));
}

Interface& interface_named(Machine& machine, std::string_view name) {
  const auto found = std::ranges::find(machine.interfaces, name, &Interface::name);
  if (found != machine.interfaces.end()) return *found;
  Interface added;
  added.name = name;
  return machine.interfaces.emplace_back(std::move(added));
}

std::string_view architecture_name(std::string_view machine) {
  if (machine == "aarch64") return "arm64";
  if (machine == "ppc64le") return "ppc64";
  return machine;
}

}  // namespace

void read_hwloc(Machine& machine) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return;
  const Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  // A container's CPU limit does not change what the machine is.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return;
  count(topology, HWLOC_OBJ_PACKAGE, machine.cpu.sockets);
  count(topology, HWLOC_OBJ_CORE, machine.cpu.cores);
  count(topology, HWLOC_OBJ_PU, machine.cpu.threads);
}

void read_addresses(Machine& machine) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    Interface& interface = interface_named(machine, entry->ifa_name);
    interface.up = (entry->ifa_flags & IFF_RUNNING) != 0;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0) interface.kind = InterfaceKind::loopback;
    auto text = address_text(*entry);
    if (!text.empty()) interface.addresses.push_back(std::move(text));
  }
}

void read_kernel(Machine& machine) {
  utsname names{};
  if (uname(&names) == 0) {
    machine.cpu.architecture = architecture_name(names.machine);
    if (machine.name.empty()) machine.name = names.nodename;
    if (machine.system.kernel.empty()) machine.system.kernel = names.release;
  }
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0)
    machine.system.shared_memory = std::uint64_t{shm.f_blocks} * shm.f_frsize;
}

}  // namespace lockstep::topology
