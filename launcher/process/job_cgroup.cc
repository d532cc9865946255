#include "launcher/process/job_cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "launcher/process/process_table.h"
#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNamePrefix = "lockstep-";

bool write_to(const fs::path& file, std::string_view text) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool is_frozen(const fs::path& folder) {
  std::ifstream events(folder / "cgroup.events");
  std::string key;
  for (int value = 0; events >> key >> value;) {
    if (key == "frozen") return value == 1;
  }
  return false;
}

// The group and those below it, the lowest last.
std::vector<fs::path> with_groups_below(const fs::path& folder) {
  std::vector<fs::path> folders{folder};
  std::error_code ignored;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (const auto& item : fs::directory_iterator(fs::path(folders[i]), ignored)) {
      if (item.is_directory(ignored)) folders.push_back(item.path());
    }
  }
  return folders;
}

bool is_old(const fs::path& folder) {
  constexpr time_t kMinute = 60;
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && ::time(nullptr) - status.st_ctime > kMinute;
}

void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(parent, ignored)) {
    const std::string name = item.path().filename();
    // A young one may be empty because its agent is about to enter; one with processes stays.
    if (name.starts_with(kNamePrefix) && is_old(item.path())) ::rmdir(item.path().c_str());
  }
}

}  // namespace

std::optional<fs::path> own_cgroup() {
  std::ifstream groups("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/")) group = line.substr(4);
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    words >> id >> parent >> device >> root >> point;
    // A mount of a part of the tree shows our group only where that part is all that we can see.
    std::error_code ignored;
    const fs::path folder = group.empty() ? fs::path(point) : fs::path(point) / group;
    if (root == "/" && fs::exists(folder / "cgroup.procs", ignored)) return folder;
  }
  return std::nullopt;
}

std::optional<JobCgroup> JobCgroup::make(const fs::path& parent, const std::string& job_id) {
  constexpr mode_t kOwnerWrites = 0755;
  remove_abandoned(parent);
  const fs::path folder = parent / (std::string(kNamePrefix) + job_id);
  if (::mkdir(folder.c_str(), kOwnerWrites) != 0) return std::nullopt;
  return JobCgroup(folder);
}

JobCgroup::JobCgroup(JobCgroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

JobCgroup::~JobCgroup() {
  if (folder_.empty()) return;
  const std::vector<fs::path> folders = with_groups_below(folder_);
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    // A process may be counted in its group for a moment after its end.
    constexpr int kTries = 20, kPauseMs = 2;
    for (int i = 0; i < kTries && ::rmdir(folder->c_str()) != 0 && processes().empty(); ++i) {
      ::poll(nullptr, 0, kPauseMs);
    }
  }
}

bool JobCgroup::enter() const {
  return write_to(folder_ / "cgroup.procs", "0");
}

std::vector<pid_t> JobCgroup::processes() const {
  std::vector<pid_t> found;
  for (const fs::path& folder : with_groups_below(folder_)) {
    std::ifstream procs(folder / "cgroup.procs");
    for (pid_t pid = 0; procs >> pid;) {
      if (pid > 0) found.push_back(pid);  // 0: of another pid namespace
    }
  }
  return found;
}

void JobCgroup::kill() const {
  if (!write_to(folder_ / "cgroup.kill", "1")) kill_frozen();
}

bool JobCgroup::kill_frozen() const {
  if (!write_to(folder_ / "cgroup.freeze", "1")) return false;
  // A process in the kernel freezes when it comes back; those that do not are met by the next call.
  constexpr int kTries = 50, kPauseMs = 2;
  for (int i = 0; i < kTries && !is_frozen(folder_); ++i) ::poll(nullptr, 0, kPauseMs);
  for (const pid_t pid : processes()) {
    if (const auto process = read_process(pid)) signal_process(process->identity, SIGKILL);
  }
  return write_to(folder_ / "cgroup.freeze", "0");
}

}  // namespace lockstep::launcher
