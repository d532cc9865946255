#include <fmt/format.h>

#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

bool is_duplicate(const Gid& a, const Gid& b) {
  return a.readable && b.readable && !a.address.empty() && a.address == b.address &&
         a.type == b.type && !a.netdev.empty() && !b.netdev.empty() && a.netdev != b.netdev;
}

// Link-local addresses follow from the MAC and are no way to another host.
bool is_routable(const Gid& gid) {
  return !gid.address.starts_with("fe80");
}

Finding finding(const Machine& machine, DeviceId id, const Gid& first, const Gid& second) {
  return {.severity = Severity::warning,
          .code = "duplicate-roce-address",
          .message = fmt::format("GIDs {} ({}) and {} ({}) of {} are the same address {}{}{}: NCCL "
                                 "takes the first, whichever interface it is of.",
                                 first.index, first.netdev, second.index, second.netdev,
                                 name_of(machine, id), first.address,
                                 first.type.empty() ? "" : ", ", first.type),
          .where = to_string(id),
          .remedy =
              "Give the two interfaces different addresses, or name the GID of the adapter's "
              "own interface in NCCL_IB_GID_INDEX."};
}

}  // namespace

std::vector<Finding> duplicate_addresses(const Machine& machine) {
  std::vector<Finding> found;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const std::vector<Gid>& gids = machine.nics[i].gids;
    if (machine.nics[i].kind == NicKind::infiniband) continue;
    // One pair says it; the version that NCCL uses comes last in an adapter's table.
    const Gid *first = nullptr, *second = nullptr;
    for (std::size_t a = 0; a < gids.size(); ++a) {
      for (std::size_t b = a + 1; b < gids.size(); ++b) {
        if (!is_duplicate(gids[a], gids[b]) || !is_routable(gids[a])) continue;
        if (first && first->type == "RoCE v2") continue;
        first = &gids[a];
        second = &gids[b];
      }
    }
    if (first)
      found.push_back(finding(machine, {DeviceKind::nic, static_cast<int>(i)}, *first, *second));
  }
  return found;
}

}  // namespace lockstep::topology::findings
