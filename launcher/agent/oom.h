// Whether it was the kernel's out-of-memory killer that ended a worker.
//
// A process that is killed for memory looks like one that somebody sent SIGKILL. Evidence, best
// first: the kernel's log (/dev/kmsg, where it may be read and pids are the host's own), which
// names the pid; and the counter oom_kill of this process's control group (memory.events of version
// 2, memory.oom_control of version 1), which rises for each process of the group that is killed,
// the groups below it included. Thread rule: one thread. Cost: two small files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/process/unique_fd.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// The count in the text of either file; nullopt where it has none.
[[nodiscard]] std::optional<std::int64_t> oom_kills(std::string_view text);

// Whether a line of the kernel's log says that the process was killed because memory ran out.
[[nodiscard]] bool names_oom_victim(std::string_view line, pid_t pid);

class OomWatch {
 public:
  // What happens before is not seen. `root` is "/" but in tests.
  explicit OomWatch(const std::filesystem::path& root = "/");

  // REQUIRES: the process ended by a SIGKILL that was not ours.
  // One rise of the counter explains one end.
  [[nodiscard]] Killer explain(pid_t pid);

 private:
  [[nodiscard]] std::optional<std::string> line_about(pid_t pid);

  std::filesystem::path counter_;  // empty: none
  std::int64_t explained_ = 0;     // of that counter
  UniqueFd log_;
  std::string seen_;  // the log's lines about kills since the start
};

}  // namespace lockstep::launcher
