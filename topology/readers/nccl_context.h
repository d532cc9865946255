// What an NCCL log says apart from its topology dump: versions and the names of net devices.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "topology/devices.h"

namespace lockstep::topology {

struct NcclNet {
  std::string name;  // "mlx5_0", "eth0"
  NicKind kind = NicKind::unknown;
};

struct NcclContext {
  std::string version;                    // "2.18.5"; empty where it is not logged
  std::map<std::uint64_t, NcclNet> nets;  // by NET number
};

// Of the host named; lines without a host count as its own. Net devices that NCCL merged of several
// ports have no single name and are left out.
[[nodiscard]] NcclContext read_nccl_context(std::string_view text, std::string_view host);

}  // namespace lockstep::topology
