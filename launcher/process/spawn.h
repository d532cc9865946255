// Starting a process: fork and exec, with what a worker or an agent must and must not inherit.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

// What happens to the process when the one that started it ends, however it ends.
enum class Parting { kDiesWithParent, kOutlivesParent };

struct ProcessPlan {
  std::string file;                      // a path; PATH is not searched
  std::vector<std::string> args;         // args[0] is the name that the program sees
  std::vector<std::string> environment;  // NAME=value, byte for byte
  std::string directory;                 // empty: stay
  int in = 0, out = 1, err = 2;  // what becomes its descriptors 0, 1 and 2; others must be > 2
  std::vector<int> cpus;         // on which alone it may run; empty: as this process
  int inherited = -1;            // one more descriptor, kept under its number
  Parting parting = Parting::kDiesWithParent;
};

struct Process {
  pid_t pid = -1;
  UniqueFd pidfd;
};

class SpawnError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Starts the process in a process group of its own, with an empty signal mask and default actions
// (an ignored SIGHUP stays ignored: that is nohup), and every other descriptor closed. Returns once
// exec has succeeded; throws SpawnError that names the step and its cause, with no child left.
//
// Thread rule: call it from a thread that lives as long as the process that it starts; the kernel
// sends the parent-death signal when the starting *thread* ends.
[[nodiscard]] Process spawn(const ProcessPlan& plan);

}  // namespace lockstep::launcher
