#include <algorithm>
#include <string>

#include "topology/probe/processors.h"
#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr std::size_t kMostNodes = 1024;  // Linux's own limit on x86 and Arm

// "MemTotal: 16384 kB" of a meminfo, with or without "Node 0" before it, in bytes.
std::optional<std::uint64_t> total_memory(const FileTree& tree, std::string_view path) {
  const auto text = read_value(tree, path);
  if (!text) return std::nullopt;
  constexpr std::string_view kKey = "MemTotal:";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const auto kilobytes = leading_number(std::string_view(*text).substr(at + kKey.size()));
  if (!kilobytes || *kilobytes < 0 || *kilobytes > 1e15) return std::nullopt;
  return static_cast<std::uint64_t>(*kilobytes) * 1024;
}

std::optional<int> socket_of(const FileTree& tree, const CpuSet& cpus) {
  if (cpus.empty()) return std::nullopt;
  const auto package =
      read_integer(tree, "/sys/devices/system/cpu/cpu" + std::to_string(cpus.cpus().front()) +
                             "/topology/physical_package_id");
  if (!package || *package < 0 || *package > CpuSet::kMaxCpu) return std::nullopt;
  return static_cast<int>(*package);
}

// One node of all CPUs, where the host does not show its nodes.
void add_unknown_node(const FileTree& tree, Machine& machine) {
  NumaNode node{.id = -1, .cpus = {}, .memory = total_memory(tree, "/proc/meminfo"), .socket = {}};
  const auto online = read_value(tree, "/sys/devices/system/cpu/online");
  if (const auto cpus = online ? CpuSet::from_list(*online) : std::nullopt) node.cpus = *cpus;
  if (node.cpus.empty() && machine.cpu.threads) {
    for (int cpu = 0; cpu < std::min(*machine.cpu.threads, CpuSet::kMaxCpu); ++cpu)
      node.cpus.add(cpu);
  }
  machine.findings.push_back(unreadable("the NUMA nodes", kNodes));
  if (!node.cpus.empty() || node.memory) machine.numa.push_back(std::move(node));
}

}  // namespace

void read_numa(const FileTree& tree, Machine& machine) {
  for (const std::string& name : tree.list(kNodes)) {
    const auto id =
        name.starts_with("node") ? parse_integer(std::string_view(name).substr(4)) : std::nullopt;
    if (!id || *id < 0 || *id > CpuSet::kMaxCpu || machine.numa.size() >= kMostNodes) continue;
    const std::string folder = std::string(kNodes) + "/" + name;
    const auto list = read_value(tree, folder + "/cpulist");
    const auto mask = list ? std::nullopt : read_value(tree, folder + "/cpumap");
    const auto cpus =
        list ? CpuSet::from_list(*list) : (mask ? CpuSet::from_mask(*mask) : std::nullopt);
    if (!cpus)
      machine.findings.push_back(
          unreadable("the CPUs of NUMA node " + std::to_string(*id), folder + "/cpulist"));
    NumaNode node{.id = static_cast<int>(*id),
                  .cpus = cpus.value_or(CpuSet()),
                  .memory = total_memory(tree, folder + "/meminfo"),
                  .socket = std::nullopt};
    node.socket = socket_of(tree, node.cpus);
    machine.numa.push_back(std::move(node));
  }
  if (machine.numa.empty()) add_unknown_node(tree, machine);
}

}  // namespace lockstep::topology
