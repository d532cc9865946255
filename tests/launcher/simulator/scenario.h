// What a history is made of, drawn from its seed before it begins: the job, its hosts, what goes
// wrong and when. What workers do is drawn as they start (Fates).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/coordinator/job_plan.h"
#include "tests/launcher/simulator/event_queue.h"
#include "tests/launcher/simulator/pipe.h"

namespace lockstep::launcher::simulator {

// How a host answers a call.
enum class Answer { kAgent, kRefuses, kTurnsAway, kSilent };

struct SimulatedHost {
  Delays delays;
  Time start_time{};    // of an agent, from the call
  Time clock_offset{};  // its clock less virtual time
  Answer answer = Answer::kAgent;
  unsigned calls_until_agent = 0;  // so many calls are answered by `answer` first
};

struct Fault {
  enum class Kind {
    kHostCrash,
    kHostCrashAndReturn,
    kAgentCrash,
    kGuardCrash,
    kAgentStop,
    kAgentStopAndContinue,
    kPartition,
    kPartitionMended,
    kReset,
    kInterrupt,
    kInterruptTwice,
    kPreempt,
    kNotice,
    kPause,
    kLauncherCrash
  };
  Kind kind;
  std::size_t host;  // where it is of a host
  Time at;
  Time lasts;  // where it is undone
};

struct Scenario {
  JobPlan plan;
  std::vector<SimulatedHost> hosts;
  std::vector<Fault> faults;  // at most one a host
  Time preemption_grace{};
  // Shares, in percent, of what workers of this history do.
  unsigned attempts_fail = 50, chorus = 40, hang = 1, ignore_term = 10, grandchildren = 20;
  unsigned not_started_per_mille = 2, act_on_notice = 50, progress = 30;

  [[nodiscard]] bool has(Fault::Kind kind) const;
  // Every link is quick, every agent answers.
  [[nodiscard]] bool calm() const;
};

// A history may go on for so long; then its user interrupts it.
inline constexpr Time kPatience = std::chrono::seconds(120);

[[nodiscard]] Scenario draw_scenario(Chance& chance);
[[nodiscard]] std::string describe(const Fault& fault);

}  // namespace lockstep::launcher::simulator
