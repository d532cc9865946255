// How many CPUs this process may use: its affinity mask and its cgroups' quotas together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockstep::launcher {

// At least 1; a quota of 2.5 CPUs counts as 2.
[[nodiscard]] std::uint32_t allowed_cpus();

// The smallest CPU quota on the way from this process's cgroup to the root, of version 2 (cpu.max)
// or 1 (cpu.cfs_quota_us), in CPUs; nullopt where there is none. `root` is "/" but in tests.
[[nodiscard]] std::optional<double> cgroup_quota(const std::filesystem::path& root);

}  // namespace lockstep::launcher
