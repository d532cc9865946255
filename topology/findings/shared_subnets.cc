// Sources: NVIDIA/nccl#1131, NVIDIA/nccl-tests#192.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

std::string dotted(std::uint32_t ipv4) {
  return fmt::format("{}.{}.{}.{}", ipv4 >> 24U, (ipv4 >> 16U) & 0xffU, (ipv4 >> 8U) & 0xffU,
                     ipv4 & 0xffU);
}

std::string to_string(const Subnet& subnet) {
  return fmt::format("{}/{}", dotted(subnet.base), subnet.length);
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

// The subnets of a port with its address in each: its interface's, else what its GIDs show.
std::vector<std::pair<Subnet, std::string>> subnets_of(const Machine& machine, const Nic& nic) {
  std::vector<std::pair<Subnet, std::string>> subnets;
  for (const Interface& interface : machine.interfaces) {
    if (interface.name != nic.netdev || !interface.master.empty()) continue;
    for (const std::string& address : interface.addresses) {
      if (const auto subnet = subnet_of(address))
        subnets.emplace_back(*subnet, address.substr(0, address.find('/')));
    }
    if (!interface.addresses.empty()) return subnets;
  }
  for (const Gid& gid : nic.gids) {
    const auto address = parse_gid_address(gid.address);
    if (!address || !gid.readable || gid.netdev != nic.netdev ||
        family_of(*address) != AddressFamily::ipv4)
      continue;
    const std::uint32_t ipv4 = ipv4_of(*address);
    std::pair known(subnet_of(ipv4, kSurely), dotted(ipv4));
    if (std::ranges::count(subnets, known) == 0) subnets.push_back(std::move(known));
  }
  return subnets;
}

// Whether the port's interface is known to answer ARP for the addresses of others too, as Linux
// does unless told otherwise, and whoever routes by source address tells it otherwise.
bool answers_for_others(const Machine& machine, const Nic& nic) {
  const auto interface = std::ranges::find(machine.interfaces, nic.netdev, &Interface::name);
  return interface != machine.interfaces.end() && interface->own_arp == false;
}

// The ports of one subnet, one an interface.
struct Sharers {
  std::vector<std::string> names, ids, addresses;
  std::vector<std::string_view> interfaces;
  bool answer_for_others = false;
};

// What the recording has of the subnet: a table of GIDs has no prefix lengths.
std::string evidence_of(const Subnet& subnet, const Sharers& sharers) {
  return subnet.length == kSurely ? list_of(sharers.addresses) : to_string(subnet);
}

Finding finding_of(const Subnet& subnet, const Sharers& sharers) {
  const std::string seen = fmt::format("{} have addresses of one subnet ({})",
                                       list_of(sharers.names), evidence_of(subnet, sharers));
  return {
      .severity = sharers.answer_for_others ? Severity::warning : Severity::info,
      .code = "shared-subnet",
      .message =
          sharers.answer_for_others
              ? fmt::format("{} and answer ARP for each other's (arp_ignore=0): RoCE traffic to "
                            "one port arrives at another, which drops it.",
                            seen)
              : fmt::format("{}: unless rules route by source address (ip rule), which this "
                            "reading does not show, Linux sends for all of them through one, and "
                            "RoCE traffic of the others does not arrive.",
                            seen),
      .where = fmt::format("{}", fmt::join(sharers.ids, ", ")),
      .remedy =
          "Give every rail a subnet of its own, or a routing table of its own (ip rule) "
          "with arp_ignore=1 and arp_announce=2."};
}

}  // namespace

std::vector<Finding> shared_subnets(const Machine& machine) {
  std::map<Subnet, Sharers> sharing;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    if (nic.kind != NicKind::roce || nic.state == NicState::down || nic.netdev.empty()) continue;
    const DeviceId id{DeviceKind::nic, static_cast<int>(i)};
    for (auto& [subnet, address] : subnets_of(machine, nic)) {
      Sharers& sharers = sharing[subnet];
      if (std::ranges::count(sharers.interfaces, nic.netdev) > 0) continue;
      sharers.interfaces.push_back(nic.netdev);
      sharers.names.push_back(name_of(machine, id));
      sharers.ids.push_back(to_string(id));
      sharers.addresses.push_back(std::move(address));
      sharers.answer_for_others |= answers_for_others(machine, nic);
    }
  }
  std::vector<Finding> found;
  for (const auto& [subnet, sharers] : sharing) {
    if (sharers.ids.size() > 1) found.push_back(finding_of(subnet, sharers));
  }
  return found;
}

}  // namespace lockstep::topology::findings
