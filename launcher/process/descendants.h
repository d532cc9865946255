// The processes below this one: what a job may have left, whatever sessions and groups it made.
//
// A process that is a child subreaper (PR_SET_CHILD_SUBREAPER) keeps every orphan of its tree as
// a child, so a walk down the parent links finds all of them. Thread rule: none, it holds no state
// that changes. Cost: one read of /proc/PID/stat for every process that this user can see.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

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

 private:
  struct Identity {
    pid_t pid;
    std::uint64_t started;  // clock ticks since boot: tells a reused pid apart
    bool operator==(const Identity&) const = default;
  };
  struct Entry {
    Identity identity;
    pid_t parent;
    char state;
  };
  static std::vector<Entry> all_processes();
  static bool read_entry(pid_t pid, Entry& entry);

  std::vector<Identity> earlier_children_;
};

}  // namespace lockstep::launcher
