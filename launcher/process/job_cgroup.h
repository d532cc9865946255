// A control group (version 2) of a job's own on this host, where one may be made.
//
// Whoever is in it stays in it with all its children, whatever sessions they make and whatever they
// clear from their environment; so it is the surest way to find a job, and the kernel ends all of
// it at once. It is a child of this process's own group, named lockstep-<job id>; no controller is
// enabled in it, it limits and counts nothing. Thread rule: none. Destroyed: the folder, where
// nothing is left in it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher {

// The folder of this process's own group of version 2; nullopt where that is not mounted.
[[nodiscard]] std::optional<std::filesystem::path> own_cgroup();

class JobCgroup {
 public:
  // nullopt where this user may make none: the usual case in an ssh session under systemd. Removes
  // empty ones beside it, over a minute old: whose guard was killed cannot remove its own.
  [[nodiscard]] static std::optional<JobCgroup> make(const std::filesystem::path& parent,
                                                     const std::string& job_id);
  JobCgroup(JobCgroup&& other) noexcept;
  JobCgroup& operator=(JobCgroup&&) = delete;
  ~JobCgroup();

  // Puts this process into it. False where that is not allowed.
  [[nodiscard]] bool enter() const;

  // Those in it and in the groups that the job may have made below it.
  [[nodiscard]] std::vector<pid_t> processes() const;

  // SIGKILL to all in it, at once; where the kernel is older than 5.14, while all are frozen.
  void kill() const;
  // The latter way. False where the group cannot be frozen.
  bool kill_frozen() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  explicit JobCgroup(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace lockstep::launcher
