// The guard of a host: a second process beside the agent, so that the job ends when either dies.
//
// The process that was started becomes the guard and its child goes on as the agent. So the guard
// is a subreaper above the whole job: when the agent is gone, by SIGKILL too, the kernel hands all
// orphans to the guard, which finds by descent even what cleared its environment and made a session
// of its own; a guard that was the agent's child could not. It is forked before the agent has
// workers, threads or a channel, from the thread that lives as long as the agent (a parent-death
// signal fires when the forking thread ends), and is not executed anew: nothing can fail there.
//
// The guard holds none of the agent's descriptors but standard error. Its own session is not the
// agent's, so that no signal to one's group or session meets both. It passes TERM, INT and HUP on
// to the agent. It ends after the agent, in the way the agent ended (code or signal), so that who
// started it sees one process: "the agent". When the guard dies, the agent ends its workers and
// itself; it has no new guard, since who started the guard takes its end for the agent's.
#pragma once

#include <chrono>
#include <string>

#include "launcher/agent/guard_machine.h"
#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {

// The agent's end of the two. Thread rule: one thread.
class GuardLink {
 public:
  using Time = GuardMachine::Time;

  GuardLink(std::string job_id, UniqueFd guard, UniqueFd words, Time silence);

  // What marks the processes of this agent's workers: kJobVariable.
  [[nodiscard]] const std::string& job_id() const { return job_id_; }
  // Readable once the guard has ended: end the job.
  [[nodiscard]] int guard() const { return guard_.get(); }

  // Tells the guard that all is well; cheap, and does something only when a beat is due.
  void beat(Time now);
  [[nodiscard]] Time next_beat() const { return next_beat_; }
  // Nothing of the job is left. REQUIRES: the agent ends next.
  void released() const;

 private:
  std::string job_id_;
  UniqueFd guard_, words_;
  Time interval_, next_beat_{};
};

struct GuardPlan {
  GuardMachine::Time silence = GuardMachine::kSilence;
  // argv[0], in which the guard renames itself for who lists processes; may be null.
  char* program_name = nullptr;
};

// Forks; returns in the child, the agent, in a session of its own and where possible in a control
// group of the job's, with TERM, INT and HUP blocked unless they were ignored. The parent is the
// guard and never returns.
// REQUIRES: one thread; descriptors 0 to 2 are open. Throws std::system_error.
[[nodiscard]] GuardLink start_guard(const GuardPlan& plan);

}  // namespace lockstep::launcher
