#include "launcher/network/host_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "launcher/process/system_call.h"
#include "topology/interface_kind.h"

namespace lockstep::launcher {
namespace {

std::string numeric(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else {
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  }
  ::inet_ntop(address.sa_family, bytes, text.data(), text.size());
  return text.data();
}

bool in_sysfs(const std::string& interface, const std::string& entry) {
  return ::access(("/sys/class/net/" + interface + "/" + entry).c_str(), F_OK) == 0;
}

bool is_ipv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}

// Addresses that mean something else, or nothing, on another host.
bool is_local(const std::string& address) {
  if (!is_ipv6(address)) return address.starts_with("127.") || address.starts_with("169.254.");
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return true;
  return IN6_IS_ADDR_LOOPBACK(&bytes) || IN6_IS_ADDR_LINKLOCAL(&bytes);
}

bool leads_out(const InterfaceAddress& entry) {
  if (!entry.up || entry.loopback || entry.bridge || is_local(entry.address)) return false;
  using topology::InterfaceKind;
  if (entry.device) return true;
  switch (topology::kind_of_interface_name(entry.interface)) {
    case InterfaceKind::loopback:
    case InterfaceKind::bridge:
    case InterfaceKind::vxlan:
    case InterfaceKind::tunnel:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  checked(::getifaddrs(&list), "getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const auto family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    constexpr unsigned kWorks = IFF_UP | IFF_RUNNING;
    all.push_back({.interface = entry->ifa_name,
                   .address = numeric(*entry->ifa_addr),
                   .up = (entry->ifa_flags & kWorks) == kWorks,
                   .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0,
                   .bridge = in_sysfs(entry->ifa_name, "bridge"),
                   .device = in_sysfs(entry->ifa_name, "device")});
  }
  return all;
}

std::vector<HostAddress> addresses_to_offer(const std::vector<InterfaceAddress>& all,
                                            std::string_view came_by) {
  std::vector<const InterfaceAddress*> good;
  for (const InterfaceAddress& entry : all) {
    if (leads_out(entry)) good.push_back(&entry);
  }
  const auto rank = [came_by](const InterfaceAddress* entry) {
    return (entry->address == came_by ? 0 : 4) + (is_ipv6(entry->address) ? 2 : 0) +
           (entry->device ? 0 : 1);
  };
  std::ranges::stable_sort(good, {}, rank);
  std::vector<HostAddress> offered;
  for (const InterfaceAddress* entry : good) {
    offered.push_back({entry->address, entry->interface});
  }
  return offered;
}

std::string address_of_ssh_connection(std::string_view value) {
  std::istringstream words{std::string(value)};
  std::string client, client_port, server;
  words >> client >> client_port >> server;
  // A link-local one carries its interface, which means nothing elsewhere.
  return server.find('%') == std::string::npos ? server : "";
}

}  // namespace lockstep::launcher
