#include "launcher/agent/oom.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> read_counter(const fs::path& file) {
  std::ifstream stream(file);
  return oom_kills(std::string(std::istreambuf_iterator<char>(stream), {}));
}

// The counter of the nearest group of this process that has one.
fs::path find_counter(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.starts_with("0::");
    const std::size_t v1 = line.find(":memory:");
    if (!v2 && v1 == std::string::npos) continue;
    fs::path group = fs::path(line.substr(v2 ? 3 : v1 + 8)).relative_path();
    const fs::path top = root / "sys/fs/cgroup" / (v2 ? "" : "memory");
    while (true) {
      const fs::path file = top / group / (v2 ? "memory.events" : "memory.oom_control");
      if (read_counter(file)) return file;
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return {};
}

// In a pid namespace of its own a process is logged under a number that we do not know.
bool pids_are_the_hosts() {
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, linux/proc_ns.h
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kFirstNamespace;
}

}  // namespace

std::optional<std::int64_t> oom_kills(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::int64_t count = 0;
    if (line.starts_with(kKey) &&
        std::from_chars(line.data() + kKey.size(), line.data() + line.size(), count).ec ==
            std::errc()) {
      return count;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

bool names_oom_victim(std::string_view line, pid_t pid) {
  // "Out of memory: Killed process 7 (name)", "Memory cgroup out of memory: Killed process 7 (..".
  const std::size_t start = line.find("ut of memory");
  return start != std::string_view::npos &&
         line.find(fmt::format("Killed process {} (", pid), start) != std::string_view::npos;
}

OomWatch::OomWatch(const fs::path& root) : counter_(find_counter(root)) {
  if (!counter_.empty()) explained_ = read_counter(counter_).value_or(0);
  if (!pids_are_the_hosts()) return;
  const fs::path log = root / "dev/kmsg";
  log_ = UniqueFd(::open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (log_.valid()) ::lseek(log_.get(), 0, SEEK_END);
}

std::optional<std::string> OomWatch::line_about(pid_t pid) {
  std::array<char, 8192> record;  // one a read, never more than this
  while (log_.valid()) {
    const ssize_t count = ::read(log_.get(), record.data(), record.size());
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;  // EPIPE: some were overwritten
    if (count <= 0) break;
    std::string_view line(record.data(), static_cast<std::size_t>(count));
    line = line.substr(0, line.find('\n'));
    line.remove_prefix(std::min(line.find(';') + 1, line.size()));  // "level,number,time,-;text"
    if (line.find("Killed process ") != std::string_view::npos) seen_.append(line).push_back('\n');
  }
  for (std::string_view rest = seen_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (names_oom_victim(line, pid)) return std::string(line);
    rest.remove_prefix(line.size() + 1);
  }
  return std::nullopt;
}

Killer OomWatch::explain(pid_t pid) {
  const auto line = line_about(pid);
  const auto count = counter_.empty() ? std::nullopt : read_counter(counter_);
  const bool counted = count && *count > explained_;
  if (counted) ++explained_;
  if (line) return {Cause::kOutOfMemory, fmt::format("its log: \"{}\"", *line)};
  if (counted) {
    return {Cause::kOutOfMemory,
            fmt::format("oom_kill in {} rose to {}", counter_.string(), *count)};
  }
  return {Cause::kUnknownSender, {}};
}

}  // namespace lockstep::launcher
