#include "tests/topology/findings/built.h"

#include <fmt/format.h>

#include <sstream>

namespace lockstep::topology::test {

Machine matrix(const std::vector<std::string>& rows) {
  Machine machine;
  machine.sources = {"nvidia-smi-topo"};
  const int gpus = static_cast<int>(rows.size());
  machine.gpus.resize(rows.size());
  for (int row = 0; row < gpus; ++row) {
    std::istringstream cells(rows[static_cast<std::size_t>(row)]);
    std::string label;
    for (int column = 0; cells >> label; ++column) {
      const DeviceId to = column < gpus ? DeviceId{DeviceKind::gpu, column}
                                        : DeviceId{DeviceKind::nic, column - gpus};
      if (column >= gpus + static_cast<int>(machine.nics.size())) {
        Nic nic;
        nic.name = fmt::format("mlx5_{}", column - gpus);
        machine.nics.push_back(nic);
      }
      if (label != "X") machine.stated.push_back({{DeviceKind::gpu, row}, to, label});
    }
  }
  return machine;
}

std::vector<std::string> summary(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    std::string line = fmt::format("{} {}", to_string(finding.severity), finding.code);
    if (!finding.where.empty()) line += " " + finding.where;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace lockstep::topology::test
