// How RDMA devices are called.
//
// Thread rule: a pure function.
#pragma once

#include <string_view>

namespace lockstep::topology {

// Whether Linux drivers or rdma-core name a device so: "mlx5_0", "mlx5_bond_0", "ibp59s0". "ib0" is
// an interface.
[[nodiscard]] bool is_rdma_name(std::string_view name);

}  // namespace lockstep::topology
