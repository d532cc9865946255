// Sources: NVIDIA/nccl#1131, NVIDIA/nccl-tests#192.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"
#include "topology/gid_address.h"

namespace lockstep::topology::findings {
namespace {

// Where the recording has no length: two addresses of one host that differ in the last bit only are
// in one subnet, for no host has both ends of a link.
constexpr int kSurely = 31;

struct Subnet {
  std::uint32_t base = 0;
  int length = 0;

  auto operator<=>(const Subnet&) const = default;
};

std::string to_string(const Subnet& subnet) {
  return fmt::format("{}.{}.{}.{}/{}", subnet.base >> 24U, (subnet.base >> 16U) & 0xffU,
                     (subnet.base >> 8U) & 0xffU, subnet.base & 0xffU, subnet.length);
}

std::uint32_t ipv4_of(const GidAddress& address) {
  std::uint32_t value = 0;
  for (std::size_t i = 12; i < 16; ++i) value = value << 8U | address.bytes[i];
  return value;
}

Subnet subnet_of(std::uint32_t address, int length) {
  return {length == 0 ? 0U : address & (0xffffffffU << static_cast<unsigned>(32 - length)), length};
}

// "10.0.0.1/24" as a subnet, with the address in front of it.
std::optional<Subnet> subnet_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_gid_address(fmt::format("::ffff:{}", text.substr(0, slash)));
  if (!address || family_of(*address) != AddressFamily::ipv4) return std::nullopt;
  int length = 0;
  for (const char c : text.substr(slash + 1)) {
    if (c < '0' || c > '9' || length > 32) return std::nullopt;
    length = 10 * length + (c - '0');
  }
  if (length < 1 || length > 30) return std::nullopt;
  return subnet_of(ipv4_of(*address), length);
}

// The subnets of a port: its interface's, else what its GIDs show.
std::vector<Subnet> subnets_of(const Machine& machine, const Nic& nic) {
  std::vector<Subnet> subnets;
  for (const Interface& interface : machine.interfaces) {
    if (interface.name != nic.netdev || !interface.master.empty()) continue;
    for (const std::string& address : interface.addresses) {
      if (const auto subnet = subnet_of(address)) subnets.push_back(*subnet);
    }
    if (!interface.addresses.empty()) return subnets;
  }
  for (const Gid& gid : nic.gids) {
    const auto address = parse_gid_address(gid.address);
    if (!address || !gid.readable || gid.netdev != nic.netdev ||
        family_of(*address) != AddressFamily::ipv4)
      continue;
    const Subnet subnet = subnet_of(ipv4_of(*address), kSurely);
    if (std::ranges::count(subnets, subnet) == 0) subnets.push_back(subnet);
  }
  return subnets;
}

}  // namespace

std::vector<Finding> shared_subnets(const Machine& machine) {
  std::map<Subnet, std::vector<std::string>> sharing;
  std::map<Subnet, std::vector<std::string_view>> interfaces;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (nic.kind != NicKind::roce || nic.state == NicState::down || nic.netdev.empty()) continue;
    for (const Subnet& subnet : subnets_of(machine, nic)) {
      auto& known = interfaces[subnet];
      if (std::ranges::count(known, nic.netdev) > 0) continue;
      known.push_back(nic.netdev);
      sharing[subnet].push_back(name_of(machine, {DeviceKind::nic, static_cast<int>(i)}));
    }
  }
  std::vector<Finding> found;
  for (const auto& [subnet, ports] : sharing) {
    if (ports.size() < 2) continue;
    found.push_back(
        {.severity = Severity::warning,
         .code = "shared-subnet",
         .message = fmt::format("{} have addresses of one subnet ({}): Linux sends for all of them "
                                "through one, so that RoCE traffic of the others does not arrive.",
                                list_of(ports), to_string(subnet)),
         .where = ports.front().substr(0, ports.front().find(' ')),
         .remedy = "Give every rail a subnet of its own, or a routing table of its own (ip rule) "
                   "with arp_ignore=1 and arp_announce=2."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
