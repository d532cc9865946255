#include "launcher/agent/allowed_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace lockstep::launcher {
namespace {

std::optional<double> quota_in(const std::filesystem::path& folder) {
  double quota = -1, period = 0;
  if (std::ifstream file(folder / "cpu.max"); file >> quota >> period && period > 0) {
    return quota / period;
  }
  std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

// Where the controller "cpu" is mounted: version 2 has one tree, version 1 one a controller.
std::optional<std::string> hierarchy(std::string_view controllers) {
  if (controllers.empty()) return "";
  std::istringstream names{std::string(controllers)};
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return std::string(controllers);
  }
  return std::nullopt;
}

std::uint32_t affinity_count() {
  // A mask larger than cpu_set_t is needed beyond 1,024 CPUs; the kernel says EINVAL until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(static_cast<std::size_t>(cpus)), [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    if (::sched_getaffinity(0, size, mask.get()) == 0) {
      return static_cast<std::uint32_t>(CPU_COUNT_S(size, mask.get()));
    }
  }
  return static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

}  // namespace

std::optional<double> cgroup_quota(const std::filesystem::path& root) {
  std::optional<double> smallest;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto mount = hierarchy(std::string_view(line).substr(first + 1, second - first - 1));
    if (!mount) continue;
    const std::filesystem::path top = root / "sys/fs/cgroup" / *mount;
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    while (true) {
      if (const auto quota = quota_in(top / group)) {
        smallest = std::min(smallest.value_or(*quota), *quota);
      }
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return smallest;
}

std::uint32_t allowed_cpus() {
  std::uint32_t cpus = affinity_count();
  if (const auto quota = cgroup_quota("/")) {
    cpus = std::min(cpus, static_cast<std::uint32_t>(std::min(*quota, 1e6)));
  }
  return std::max(cpus, std::uint32_t{1});
}

}  // namespace lockstep::launcher
