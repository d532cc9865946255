#include <algorithm>
#include <string>
#include <vector>

#include "topology/cpu_family.h"
#include "topology/probe/values.h"
#include "topology/readers/hwloc_parts.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMostNodes = 1024;

bool is_package(const HwlocObject& object) {
  return object.type == "Package" || object.type == "Socket";
}

bool is_node(const HwlocObject& object) {
  return object.type == "NUMANode" || object.type == "Node";
}

std::optional<int> os_index(const HwlocObject& object) {
  const auto value = parse_integer(object.attribute("os_index"));
  if (!value || *value < 0 || *value > CpuSet::kMaxCpu) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<int> info_number(const HwlocFile& file, const char* name) {
  const auto value = parse_integer(file.info("Package", name));
  if (!value || *value < 0 || *value > 0xffff) return std::nullopt;
  return static_cast<int>(*value);
}

std::string architecture(const std::string& machine) {
  if (machine == "aarch64") return "arm64";
  if (machine == "ppc64le") return "ppc64";
  return machine;
}

int count(const HwlocFile& file, std::string_view type) {
  return static_cast<int>(std::ranges::count(file.objects(), type, &HwlocObject::type));
}

std::optional<int> if_any(int number) {
  return number > 0 ? std::optional(number) : std::nullopt;
}

struct Package {
  std::optional<int> index;
  CpuSet cpus;
};

std::vector<Package> read_packages(const HwlocFile& file) {
  std::vector<Package> packages;
  for (const HwlocObject& object : file.objects()) {
    if (is_package(object) && packages.size() < kMostNodes)
      packages.push_back({os_index(object), object.set("cpuset").value_or(CpuSet())});
  }
  return packages;
}

// The package around a node, or the only one inside it.
std::optional<int> socket_of(const HwlocFile& file, int node,
                             const std::vector<Package>& packages) {
  const int around = file.above(node, is_package);
  if (around != HwlocObject::kNone)
    return os_index(file.objects()[static_cast<std::size_t>(around)]);
  const auto cpus = file.objects()[static_cast<std::size_t>(node)].set("cpuset");
  const Package* only = nullptr;
  for (const Package& package : packages) {
    if (!cpus || package.cpus.empty() || !cpus->contains(package.cpus.cpus().front())) continue;
    if (only != nullptr) return std::nullopt;
    only = &package;
  }
  return only != nullptr ? only->index : std::nullopt;
}

std::optional<std::uint64_t> memory_of(const HwlocObject& object) {
  const auto bytes = parse_integer(object.attribute("local_memory"));
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace

void read_hwloc_processors(const HwlocFile& file, Machine& machine) {
  Cpu& cpu = machine.cpu;
  cpu.architecture = architecture(file.info("Machine", "Architecture"));
  cpu.vendor = file.info("Package", "CPUVendor");
  if (cpu.vendor.empty()) cpu.vendor = file.info("Package", "CPUImplementer");
  cpu.model = file.info("Package", "CPUModel");
  if (const auto family = info_number(file, "CPUFamilyNumber")) cpu.family = nccl_family(*family);
  cpu.model_number = info_number(file, "CPUModelNumber");
  cpu.sockets = if_any(static_cast<int>(std::ranges::count_if(file.objects(), is_package)));
  cpu.cores = if_any(count(file, "Core"));
  cpu.threads = if_any(count(file, "PU"));

  const std::vector<Package> packages = read_packages(file);
  for (std::size_t i = 0; i < file.objects().size(); ++i) {
    const HwlocObject& object = file.objects()[i];
    const auto id = is_node(object) ? os_index(object) : std::nullopt;
    if (!id || find_numa(machine, *id) != nullptr || machine.numa.size() >= kMostNodes) continue;
    machine.numa.push_back({.id = *id,
                            .cpus = object.set("cpuset").value_or(CpuSet()),
                            .memory = memory_of(object),
                            .socket = socket_of(file, static_cast<int>(i), packages)});
  }
  // A recording of version 1 shows no node on a machine that has one only.
  const HwlocObject& whole = file.objects().front();
  if (machine.numa.empty())
    machine.numa.push_back({.id = -1,
                            .cpus = whole.set("cpuset").value_or(CpuSet()),
                            .memory = memory_of(whole),
                            .socket = std::nullopt});
}

}  // namespace lockstep::topology
