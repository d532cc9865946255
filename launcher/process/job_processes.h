// Every process of a job on this host, found in all ways that there are, and ended.
//
// Ways: its control group, where there is one; the tree below this process (complete while this
// process is a subreaper and lives); and the entry LOCKSTEP_JOB=<job id> in the environment with
// which a process of this user was started, compared byte for byte: the id is random and belongs to
// one agent, so no other job, of the same command line even, can be taken for this one. What is
// below a process that was found is found too. This process itself and children that it had before
// are never the job's.
// Thread rule: one thread. Cost of a look: that of all_processes(), and a read of the environment
// of every process of this user outside the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/process/descendants.h"
#include "launcher/process/job_cgroup.h"

namespace lockstep::launcher {

// 128 random bits in hexadecimal.
[[nodiscard]] std::string random_job_id();

// The variable that marks a job's processes.
inline constexpr char kJobVariable[] = "LOCKSTEP_JOB";

class JobProcesses {
 public:
  // REQUIRES: a subreaper, if processes that left their parents are to be found by the tree.
  JobProcesses(const std::string& job_id, std::optional<JobCgroup> cgroup);

  // Those that live. Without those of other users, which take no signals from us.
  [[nodiscard]] std::vector<ProcessEntry> find() const;

  // Ends all: SIGKILL to the control group, then SIGSTOP to what is found, again until nothing new
  // is, and SIGKILL only then: what starts others faster than it is killed, or whenever one of
  // its like dies, does not win. Returns how many there were after that; call it until none is.
  std::size_t end() const;

  [[nodiscard]] const std::optional<JobCgroup>& cgroup() const { return cgroup_; }

 private:
  [[nodiscard]] bool is_marked(pid_t pid) const;

  std::string mark_;
  std::optional<JobCgroup> cgroup_;
  Descendants below_;
};

}  // namespace lockstep::launcher
