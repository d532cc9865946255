#include "topology/rdma_name.h"

#include <algorithm>
#include <array>

namespace lockstep::topology {

bool is_rdma_name(std::string_view name) {
  constexpr std::array<std::string_view, 13> kStarts = {
      "mlx4_", "mlx5_", "mthca", "bnxt_re", "roce",   "ibp",  "ibs",
      "irdma", "erdma", "hfi1_", "qedr",    "cxgb4_", "ionic"};
  return std::ranges::any_of(kStarts,
                             [name](std::string_view start) { return name.starts_with(start); });
}

}  // namespace lockstep::topology
