// Which entry of a RoCE port's GID table its traffic should use.
//
// NCCL 2.21 and later choose by themselves, by type and address only. Where a second interface on
// the same adapter (VXLAN, macvlan) holds the same address, that choice can fall on the wrong one,
// whose packets leave elsewhere; ours asks which interface is the adapter's own. Thread rule: pure
// functions. Source of NCCL's rule: net_ib.cc of 2.28.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/devices.h"
#include "topology/gid_address.h"

namespace lockstep::topology {

// NCCL_IB_ADDR_FAMILY and NCCL_IB_ROCE_VERSION_NUM.
struct GidRule {
  AddressFamily family = AddressFamily::ipv4;
  int roce_version = 2;
};

struct GidChoice {
  // What NCCL takes where NCCL_IB_GID_INDEX is unset. Empty: it does not ask (InfiniBand, or no
  // RDMA), or the table does not say enough.
  std::optional<int> by_nccl;
  // The first entry of the rule's family and version, routable and of the adapter's own interface;
  // where that has none, of any. Empty: there is none.
  std::optional<int> right;
  // Other entries with the address and version of `right`, ascending.
  std::vector<int> duplicates;

  bool operator==(const GidChoice&) const = default;
};

// Entries that are not readable (of another network namespace) and those that are missing are
// skipped, as NCCL does.
[[nodiscard]] GidChoice choose_gid(const Nic& nic, GidRule rule = {});

// The interface an adapter's port is, as its GIDs show it: `nic.netdev` where one of them belongs
// to it, else the owner of the default GID (the link-local one at index 0), else `nic.netdev`,
// which may be empty.
[[nodiscard]] std::string own_interface(const Nic& nic);

}  // namespace lockstep::topology
