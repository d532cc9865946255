// Reads a file that names hosts.
//
// Thread rule: a function without state. It never waits: a FIFO, a device and a folder are refused.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep::launcher {

inline constexpr std::size_t kLargestHostFile = std::size_t{16} << 20;

// All of the regular file at `path`. Errors: AllocationError that begins with `name` (such as
// "--hostfile F") where it is none, cannot be read, or is larger than kLargestHostFile.
[[nodiscard]] std::string read_host_file(const std::string& path, const std::string& name);

}  // namespace lockstep::launcher
