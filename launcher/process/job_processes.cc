#include "launcher/process/job_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

// Whether one of the entries, each ended by '\0', of the file is `entry`.
bool has_entry(int file, std::string_view entry) {
  std::array<char, std::size_t{16} << 10> buffer;
  std::size_t matched = 0;  // of the entry that is being read
  bool differs = false;
  while (true) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return !differs && matched == entry.size();
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(count))) {
      if (c == '\0') {
        if (!differs && matched == entry.size()) return true;
        matched = 0;
        differs = false;
      } else if (!differs && matched < entry.size() && c == entry[matched]) {
        ++matched;
      } else {
        differs = true;
      }
    }
  }
}

}  // namespace

std::string random_job_id() {
  std::array<unsigned char, 16> bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (count < 0 && errno == EINTR) continue;
    have += static_cast<std::size_t>(checked(count, "getrandom"));
  }
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

JobProcesses::JobProcesses(const std::string& job_id, std::optional<JobCgroup> cgroup)
    : mark_(fmt::format("{}={}", kJobVariable, job_id)), cgroup_(std::move(cgroup)) {}

bool JobProcesses::is_marked(pid_t pid) const {
  const std::string path = fmt::format("/proc/{}/environ", pid);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  return file.valid() && ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         has_entry(file.get(), mark_);
}

std::vector<ProcessEntry> JobProcesses::find() const {
  const std::vector<ProcessEntry> all = all_processes();
  std::unordered_set<pid_t> grouped;
  if (cgroup_) {
    for (const pid_t pid : cgroup_->processes()) grouped.insert(pid);
  }
  std::unordered_set<pid_t> below;
  for (const ProcessEntry& entry : below_.among(all)) below.insert(entry.identity.pid);
  std::vector<ProcessEntry> marked;
  for (const ProcessEntry& entry : all) {
    const pid_t pid = entry.identity.pid;
    if (below.contains(pid)) continue;
    if (grouped.contains(pid) || is_marked(pid)) marked.push_back(entry);
  }
  std::vector<ProcessEntry> found = below_.among(all, marked);
  std::erase_if(found, [](const ProcessEntry& entry) {
    return !is_living(entry) || signal_process(entry.identity, 0) != Signalled::kYes;
  });
  return found;
}

std::size_t JobProcesses::end() const {
  if (cgroup_) cgroup_->kill();
  // What outruns so many looks starts more than the host can hold, stopped ones included.
  constexpr int kLooks = 100;
  std::unordered_set<pid_t> stopped;
  std::vector<ProcessEntry> found;
  for (int look = 0; look < kLooks; ++look) {
    found = find();
    bool any_new = false;
    for (const ProcessEntry& entry : found) {
      if (!stopped.insert(entry.identity.pid).second) continue;
      any_new = true;
      signal_process(entry.identity, SIGSTOP);
    }
    if (!any_new) break;
  }
  for (const ProcessEntry& entry : found) signal_process(entry.identity, SIGKILL);
  return found.size();
}

}  // namespace lockstep::launcher
