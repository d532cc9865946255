#include <fmt/format.h>

#include <algorithm>

#include "topology/findings/evidence.h"
#include "topology/findings/nvlink_counts.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {

std::vector<Finding> iommu(const Machine& machine) {
  const System& system = machine.system;
  if (system.iommu_groups.value_or(0) == 0 || machine.gpus.empty()) return {};
  // Arm servers are built around theirs; of a guest's only its host knows.
  if (machine.cpu.architecture != "x86_64" || system.virtual_machine.value_or(false)) return {};
  if (system.kernel_command_line.find("iommu=pt") != std::string::npos ||
      system.kernel_command_line.find("iommu.passthrough=1") != std::string::npos)
    return {};
  const bool by_pcie =
      machine.gpus.size() > 1 && count_nvlinks(machine).shape != NvlinkShape::fabric;
  if (!by_pcie && !has_rdma(machine)) return {};
  return {{.severity = Severity::info,
           .code = "iommu-on",
           .message = fmt::format("The IOMMU translates ({} groups, no iommu=pt on the kernel's "
                                  "command line): peer-to-peer copies over PCIe may be slow or "
                                  "hang.",
                                  *system.iommu_groups),
           .where = machine.name,
           .remedy = "If they do, boot with iommu=pt or turn the IOMMU off in the BIOS; "
                     "NCCL_P2P_DISABLE=1 proves the cause."}};
}

}  // namespace lockstep::topology::findings
