// Source: NCCL user guide (NCCL_IB_ADDR_FAMILY, since 2.21; IPv4 by default).
#include <fmt/format.h>

#include <string>

#include "topology/advice/rules.h"

namespace lockstep::topology {
namespace {

bool is_ipv4(const Gid& gid) {
  return gid.address.starts_with("0000:0000:0000:0000:0000:ffff:");
}

bool is_configured(const Gid& gid) {
  return !gid.address.starts_with("fe80:") &&
         gid.address.find_first_not_of("0:") != std::string::npos;
}

}  // namespace

Ruling ib_addr_family(const Situation& situation) {
  if (!situation.crosses_hosts()) return {};
  const auto roce = used_of(situation, NicKind::roce);
  if (roce.empty()) return {};
  std::vector<std::string> evidence;
  for (const int i : roce) {
    const Gid* ipv6 = nullptr;
    for (const Gid& gid : situation.nic(i).gids) {
      if (!gid.readable) continue;
      if (is_ipv4(gid)) return {};
      if (gid.type == "RoCE v2" && is_configured(gid)) ipv6 = &gid;
    }
    if (ipv6 == nullptr) return {};
    evidence.push_back(fmt::format("{}: GID {} is {}, and none is IPv4", situation.nic(i).name,
                                   ipv6->index, ipv6->address));
  }
  Advice advice{.variable = "NCCL_IB_ADDR_FAMILY",
                .value = "AF_INET6",
                .reason = "NCCL looks for IPv4 GIDs, and these ports have IPv6 ones only",
                .evidence = std::move(evidence)};
  return {{advice}, {}, {}};
}

}  // namespace lockstep::topology
