// Source: NCCL's findInterfaces takes IPv4 addresses before IPv6 ones, whether routed or not.
#include <fmt/format.h>

#include <algorithm>

#include "topology/advice/interfaces.h"
#include "topology/advice/rules.h"

namespace lockstep::topology {

Ruling socket_family(const Situation& situation) {
  if (!situation.crosses_hosts()) return {};
  const auto best = reachable_interface(situation.machine);
  if (!best) return {};
  const Interface& chosen = situation.machine.interfaces[static_cast<std::size_t>(*best)];
  bool has_ipv4 = false, has_routable_ipv4 = false;
  for (const std::string& address : chosen.addresses) {
    const bool ipv4 = address.find(':') == std::string::npos;
    has_ipv4 |= ipv4;
    has_routable_ipv4 |= ipv4 && !address.starts_with("169.254.");
  }
  if (!has_ipv4 || has_routable_ipv4) return {};
  Advice advice{
      .variable = "NCCL_SOCKET_FAMILY",
      .value = "AF_INET6",
      .reason = fmt::format(
          "NCCL would take the IPv4 address of {}, which is link-local, before its IPv6 address",
          chosen.name),
      .evidence = {fmt::format("{} has {}", chosen.name, fmt::join(chosen.addresses, ", "))}};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
