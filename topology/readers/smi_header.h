// The header line of a matrix of `nvidia-smi topo`.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "topology/readers/smi_matrix.h"

namespace lockstep::topology {

struct SmiHeader {
  std::vector<std::string_view> devices;  // "GPU0", "NIC3", "mlx5_0"; views of the line
  std::vector<SmiColumn> columns;
};

// The words of `line` as a header's; devices are empty where it is none. A whole header begins with
// a GPU; the rest of one that was wrapped need not.
[[nodiscard]] SmiHeader parse_smi_header(std::string_view line);

// Whether `name` is "GPU" and a number.
[[nodiscard]] bool is_smi_gpu(std::string_view name);

// The name of a device at the front of `text`: "GPU7", "NIC10", "mlx5_3"; empty if none is there.
[[nodiscard]] std::string_view leading_smi_device(std::string_view text);

}  // namespace lockstep::topology
