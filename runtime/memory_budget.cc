#include "runtime/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace lockstep::runtime {
namespace {

namespace fs = std::filesystem;
using engine::Arena;

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::size_t> number_in(const fs::path& path) {
  const auto line = first_line(path);
  std::size_t value = 0;
  if (!line || std::from_chars(line->data(), line->data() + line->size(), value).ec != std::errc{})
    return std::nullopt;  // "max": no limit
  return value;
}

std::optional<std::size_t> kernels_available(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kib = 0;
    if (words >> name >> kib && name == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

// Where this process is in a hierarchy: "" for version 2, "memory" for version 1.
std::optional<fs::path> group_of(const fs::path& root, std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) {
      return fs::path(line.substr(second + 1)).relative_path();
    }
  }
  return std::nullopt;
}

// The files of one version's hierarchy.
struct Hierarchy {
  std::string_view controller, mount, limit, used;
};
constexpr Hierarchy kHierarchies[] = {
    {"", "sys/fs/cgroup", "memory.max", "memory.current"},
    {"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}};

// What the tightest of the groups above this process leaves.
std::optional<std::size_t> groups_leave(const fs::path& root) {
  std::optional<std::size_t> least;
  for (const Hierarchy& hierarchy : kHierarchies) {
    std::optional<fs::path> group = group_of(root, hierarchy.controller);
    while (group) {
      const fs::path folder = root / hierarchy.mount / *group;
      const auto limit = number_in(folder / hierarchy.limit);
      const auto used = number_in(folder / hierarchy.used);
      if (limit) {
        const std::size_t left = *limit - std::min(*limit, used.value_or(0));
        least = std::min(least.value_or(left), left);
      }
      if (group->empty()) break;
      group = group->parent_path();
    }
  }
  return least;
}

bool one_copy_a_host(Arena arena) {
  return arena == Arena::parameters || arena == Arena::optimizer;
}

std::size_t of_host(const JobPlan& plan, Arena arena, int local_world) {
  const std::size_t bytes = plan.compiled.arena_bytes[static_cast<std::size_t>(arena)];
  return one_copy_a_host(arena) ? bytes : bytes * static_cast<std::size_t>(local_world);
}

std::string mib(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string table_of(const JobPlan& plan, const MemoryBudget& budget) {
  std::string table;
  for (std::size_t i = 0; i < engine::kArenas; ++i) {
    const auto arena = static_cast<Arena>(i);
    const std::size_t bytes = of_host(plan, arena, budget.local_world);
    if (bytes == 0) continue;
    table += fmt::format("  {:14} {:>14}  {}\n", name_of(arena), mib(bytes),
                         one_copy_a_host(arena)
                             ? std::string("one copy for the host")
                             : fmt::format("{} on each of {} workers",
                                           mib(plan.compiled.arena_bytes[i]), budget.local_world));
  }
  return table;
}

// The smallest change that makes the job fit; empty where none of those tried does.
std::string remedy(const JobShape& shape, Job job, const MemoryBudget& budget,
                   const engine::KernelTable& kernels) {
  const auto fits = [&](const JobShape& changed) {
    return bytes_of_host(plan_job(job, changed, kernels), budget.local_world) <= budget.available;
  };
  std::string change;
  if (job.recompute == Recompute::none) {
    job.recompute = Recompute::block;
    change = "\"recompute\": \"block\"";
    if (fits(shape)) return change;
    change += " and ";
  }
  JobShape smaller = shape;
  while (smaller.capacity > 1) {
    smaller.capacity = (smaller.capacity + 1) / 2;
    smaller.evaluation_capacity = (smaller.evaluation_capacity + 1) / 2;
    job.accumulate *= 2;
    if (fits(smaller)) return fmt::format("{}\"accumulate\": {}", change, job.accumulate);
  }
  return {};
}

}  // namespace

std::optional<std::size_t> available_memory(const fs::path& root) {
  const auto kernel = kernels_available(root), groups = groups_leave(root);
  if (kernel && groups) return std::min(*kernel, *groups);
  return kernel ? kernel : groups;
}

std::size_t bytes_of_host(const JobPlan& plan, int local_world) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < engine::kArenas; ++i) {
    bytes += of_host(plan, static_cast<Arena>(i), local_world);
  }
  return bytes;
}

void require_memory(const JobPlan& plan, const Job& job, const MemoryBudget& budget,
                    const engine::KernelTable& kernels) {
  const std::size_t needed = bytes_of_host(plan, budget.local_world);
  if (needed <= budget.available) return;
  const std::string change = remedy(plan.shape, job, budget, kernels);
  throw MemoryError(fmt::format(
      "the job needs {} on this host, which has {} left:\n{}{}", mib(needed), mib(budget.available),
      table_of(plan, budget),
      change.empty()
          ? std::string("neither recompute nor micro-steps of one sample make it fit: use a "
                        "smaller model, or fewer workers on this host")
          : fmt::format("it fits with {}", change)));
}

}  // namespace lockstep::runtime
