#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {

std::vector<Finding> processors(const Machine& machine) {
  // Only a topology file is handed to NCCL as it is; what was read elsewhere NCCL reads itself.
  if (std::ranges::count(machine.sources, "nccl-xml") == 0) return {};
  const Cpu& cpu = machine.cpu;
  std::string lacks;
  const auto want = [&lacks](bool is_there, std::string_view attribute) {
    if (!is_there) lacks += fmt::format("{}{}", lacks.empty() ? "" : ", ", attribute);
  };
  want(!cpu.architecture.empty(), "arch");
  if (cpu.architecture.empty() || cpu.architecture == "x86_64") want(!cpu.vendor.empty(), "vendor");
  if (cpu.vendor == "GenuineIntel") {
    want(cpu.family.has_value(), "familyid");
    want(cpu.model_number.has_value(), "modelid");
  }
  std::vector<Finding> found;
  if (lacks.empty()) return found;
  for (const NumaNode& node : machine.numa) {
    found.push_back(
        {.severity = Severity::warning,
         .code = "incomplete-processor",
         .message = fmt::format("cpu numaid {} lacks {}: NCCL refuses the file as soon as not "
                                "every GPU of it is visible (\"Attribute ... not found\").",
                                node.id, lacks),
         .where = fmt::format("NUMA{}", node.id),
         .remedy = "Add what is missing to each cpu element of the file, or let the provider's "
                   "plug-in make it."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
