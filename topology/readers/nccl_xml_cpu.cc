// The `cpu` elements of an NCCL topology: NUMA nodes and the processor.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "topology/readers/nccl_xml_attributes.h"
#include "topology/readers/nccl_xml_machine.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostNuma = 256;  // as many nodes as NCCL takes of one kind
constexpr int kMostNumaId = 1 << 16;

}  // namespace

void NcclXmlMachine::read_cpu(pugi::xml_node cpu) {
  const auto stated = int_attribute(cpu, "numaid");
  numa_ = stated && *stated >= -1 && *stated <= kMostNumaId ? *stated : -1;
  if (numa_ != stated.value_or(-2))
    add_finding(cpu, {.severity = Severity::warning,
                      .code = "cpu-without-numaid",
                      .message = fmt::format("expected the number of a NUMA node, found "
                                             "numaid=\"{}\"; it is read as -1",
                                             text_attribute(cpu, "numaid")),
                      .where = "",
                      .remedy = "NCCL refuses such a cpu: add its numaid"});
  if (find_numa(machine_, numa_) == nullptr) {
    if (!has_room(machine_.numa.size(), kMostNuma, cpu)) return;
    NumaNode node;
    node.id = numa_;
    read_mask(cpu, node);
    machine_.numa.push_back(std::move(node));
  }
  read_processor(cpu, numa_);
  const DeviceId id{DeviceKind::numa, numa_};
  for (const pugi::xml_node child : cpu.children()) {
    const std::string_view name = child.name();
    if (name == "pci") read_pci(child, id, 1);
    if (name == "nic") read_nics(child, PciDevice{}, id);
  }
}

void NcclXmlMachine::read_mask(pugi::xml_node cpu, NumaNode& node) {
  const std::string_view text = text_attribute(cpu, "affinity");
  if (text.empty()) return;
  if (auto cpus = CpuSet::from_mask(text)) {
    node.cpus = *std::move(cpus);
    node.mask_words = 1 + static_cast<int>(std::ranges::count(text, ','));
    return;
  }
  add_finding(cpu, {.severity = Severity::warning,
                    .code = "cpu-mask-refused",
                    .message = fmt::format("expected the CPUs of NUMA node {} as hexadecimal "
                                           "words, found affinity=\"{}\"",
                                           node.id, text.substr(0, 64)),
                    .where = "",
                    .remedy = "take it from /sys/devices/system/node/node*/cpumap"});
}

// NCCL wants these of each cpu that is left after it has dropped what is not used; which of them
// are, depends on the GPUs a job sees.
void NcclXmlMachine::read_processor(pugi::xml_node cpu, int numa) {
  Cpu own;
  own.architecture = text_attribute(cpu, "arch");
  own.vendor = text_attribute(cpu, "vendor");
  own.family = int_attribute(cpu, "familyid");
  own.model_number = int_attribute(cpu, "modelid");
  std::string lacks;
  const auto want = [&lacks](bool is_there, std::string_view attribute) {
    if (!is_there) lacks += fmt::format("{}{}", lacks.empty() ? "" : ", ", attribute);
  };
  want(!own.architecture.empty(), "arch");
  if (own.architecture.empty() || own.architecture == "x86_64") want(!own.vendor.empty(), "vendor");
  if (own.vendor == "GenuineIntel") {
    want(own.family.has_value(), "familyid");
    want(own.model_number.has_value(), "modelid");
  }
  if (!lacks.empty())
    notes_.add({.severity = Severity::warning,
                .code = "incomplete-processor",
                .message = fmt::format("cpu numaid {} lacks {} (line {}): NCCL refuses the file "
                                       "where a job sees only some of the GPUs",
                                       numa, lacks, line_of(cpu)),
                .where = fmt::format("NUMA{}", numa),
                .remedy = "add what is missing to each cpu element of the file"});
  if (machine_.cpu.architecture.empty()) machine_.cpu = std::move(own);
}

}  // namespace lockstep::topology
