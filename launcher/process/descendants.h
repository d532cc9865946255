// The processes below this one: what a job may have left, whatever sessions and groups it made.
//
// A process that is a child subreaper (PR_SET_CHILD_SUBREAPER) keeps every orphan of its tree as
// a child, so a walk down the parent links finds all of them. Thread rule: none, it holds no state
// that changes. Cost: that of all_processes().
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "launcher/process/process_table.h"

namespace lockstep::launcher {

// Makes this process the parent of every orphan below it.
void become_subreaper();

class Descendants {
 public:
  // Children that this process has now are not the job's (a shell may have started them before
  // it executed us): they and what is below them are left alone.
  Descendants();

  // Sends `signal` (0: none) to every descendant that still lives and returns how many there were;
  // `spared` children, and what is below them, are left alone.
  std::size_t signal_all(int signal, const std::set<pid_t>& spared = {}) const;

  // The descendants among `processes`, those that have ended included; and `more` of them, each
  // with all that is below it.
  [[nodiscard]] std::vector<ProcessEntry> among(const std::vector<ProcessEntry>& processes,
                                                const std::vector<ProcessEntry>& more = {}) const;

 private:
  std::vector<ProcessIdentity> earlier_children_;
};

}  // namespace lockstep::launcher
