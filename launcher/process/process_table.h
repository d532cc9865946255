// The processes of this host as /proc shows them, and how one of them is signalled safely.
//
// Thread rule: none, there is no state. Cost of all_processes(): one read of /proc/PID/stat for
// every process that this user can see (some 10 us each).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::launcher {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t started = 0;  // clock ticks since boot: tells a reused pid apart
  bool operator==(const ProcessIdentity&) const = default;
};

struct ProcessEntry {
  ProcessIdentity identity;
  pid_t parent = 0;
  char state = 'X';  // of /proc/PID/stat; 'Z' has ended and waits for its parent
};

// Every process that there is; of one that comes or goes meanwhile, perhaps.
// Throws std::system_error where there is no /proc.
[[nodiscard]] std::vector<ProcessEntry> all_processes();

// nullopt where it is gone.
[[nodiscard]] std::optional<ProcessEntry> read_process(pid_t pid);

[[nodiscard]] inline bool is_living(const ProcessEntry& entry) {
  return entry.state != 'Z' && entry.state != 'X';
}

// kNotOurs: it belongs to another user and takes no signals from us.
enum class Signalled { kYes, kGone, kNotOurs };

// Sends `signal` (0: asks only) to exactly that process, through a pidfd: a pid that was reused
// since it was read is left alone.
Signalled signal_process(const ProcessIdentity& identity, int signal);

}  // namespace lockstep::launcher
