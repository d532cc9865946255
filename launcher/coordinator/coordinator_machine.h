// What the coordinator decides, without processes, descriptors or clocks: an event in, actions out.
//
//   gathering --enough agents--> surveying --> reaching --> preparing --> running --> finished
//       ^                        (which address of rank 0's host          |
//       |                         the others reach)                       |
//       '--------------- a new attempt, if the policy allows -------------'
//
// It starts an attempt once the agents it needs are ready; at the first failure, when a host falls
// silent, or at an interrupt, it has all agents stop theirs; an attempt ends when every agent has
// said that nothing is left and all output has been passed on. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/coordinator/attempt.h"
#include "launcher/coordinator/job_plan.h"
#include "launcher/coordinator/liveness.h"
#include "launcher/coordinator/outcome.h"
#include "launcher/coordinator/restart_policy.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

class CoordinatorMachine {
 public:
  using Time = Liveness::Time;

  // Actions. The driver does them in order.
  struct Connect {  // start an agent there; answered by a Ready, agent_lost() or not_reached()
    std::size_t host;
    Time at;  // not before
  };
  struct SendTo {
    std::size_t host;
    Message message;
  };
  struct Show {
    std::size_t host;  // whose credit it is
    Output output;
  };
  enum class Level { kAlways, kVerbose };
  struct Say {
    std::string text;
    Level level = Level::kAlways;
  };
  struct EndAgent {  // close its channel and kill what carries it; no agent_lost() follows
    std::size_t host;
  };
  struct Finish {};
  using Action = std::variant<Connect, SendTo, Show, Say, EndAgent, Finish>;
  using Actions = std::vector<Action>;

  // At an interrupt everything must be gone within 2 s: the grace is at most this...
  static constexpr std::chrono::milliseconds kInterruptGrace{1000};
  // ...and an agent that has not answered so long after the grace is given up.
  static constexpr std::chrono::milliseconds kInterruptSlack{600};
  static constexpr std::chrono::milliseconds kFailureSlack{5000};
  // How long an interrupted job's last output is waited for when nobody reads ours.
  static constexpr std::chrono::milliseconds kLastOutput{200};
  // For all answers to a Survey, a Reach or a Prepare.
  static constexpr std::chrono::milliseconds kSetupLimit{10'000};
  // A lost host is called again after so long, twice as long each time, up to the longest.
  static constexpr std::chrono::milliseconds kFirstReturn{1'000}, kLongestReturn{60'000};
  // An agent that was given up unheard may have workers for so long: until it has missed us for ten
  // seconds, or its guard has missed it for as long, and they are killed. Until then no new attempt
  // may use its host.
  static constexpr std::chrono::milliseconds kOrphansEnd{12'000};
  // Hosts are looked at together and no oftener: a look costs a pass over all of them.
  static constexpr std::chrono::milliseconds kLookInterval{20};
  // How long an attempt waits for the hosts that it lacks, once the job has run.
  static constexpr std::chrono::milliseconds kWaitForHosts{60'000};

  explicit CoordinatorMachine(JobPlan plan);

  [[nodiscard]] Actions begin(Time now);
  [[nodiscard]] Actions received(std::size_t host, Message message, Time now);
  // Its channel has ended; `why` completes "host H ...". `code` is what the launcher exits with.
  [[nodiscard]] Actions agent_lost(std::size_t host, int code, const std::string& why, Time now);
  // No agent could be started there, and trying again is no use.
  [[nodiscard]] Actions not_reached(std::size_t host, const std::string& why, Time now);

  [[nodiscard]] Actions interrupted(const std::string& by, Time now);
  // The batch system wants the job to end: workers have `grace` after SIGTERM.
  [[nodiscard]] Actions preempted(const std::string& by, std::chrono::milliseconds grace, Time now);
  // A signal for the workers that ends nothing by itself.
  [[nodiscard]] Actions noticed(int signal, Time now);
  // Our user stops us (Ctrl-Z), and lets us go on.
  [[nodiscard]] Actions pausing();
  [[nodiscard]] Actions resumed(Time now);

  [[nodiscard]] Actions time_passed(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // REQUIRES: Finish was among the actions.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Phase { kGathering, kSurveying, kReaching, kPreparing, kRunning, kFinished };
  struct Host {
    enum class State { kConnecting, kReady, kLost } state = State::kConnecting;
    std::string name;
    std::int64_t agent_pid = 0;
    std::vector<HostAddress> addresses;
    std::string why;  // it is lost
    Liveness liveness;
    Time next_call = kFirstReturn;  // how long after its next loss it is called again
    Time clear_at{};                // when no worker is left of an agent that was given up
    // Of the attempt's first host: those that it reached, and by which interface.
    std::optional<Reached> reached;
  };

  void call(std::size_t host, Time at, Actions& actions);
  void lose(std::size_t host, int code, const std::string& why, Time now, Actions& actions);
  void excuse(Time gap);
  void look_at_hosts(Time now, Actions& actions);
  void give_up(std::size_t host, Time now, Actions& actions);
  void call_again(std::size_t host, Time now, Actions& actions);
  void take_ready(std::size_t host, const Ready& ready, Time now, Actions& actions);
  void take_worker_message(std::size_t host, Message& message, Time now, Actions& actions);

  // Setting up an attempt (coordinator_setup.cc).
  void gather(Time now, Actions& actions);
  void give_up_gathering(Actions& actions);
  void begin_attempt(Time now, Actions& actions);
  void ask_who_reaches(std::uint16_t port, Actions& actions);
  void choose_address(Time now, Actions& actions);
  void prepare(const std::string& address, Actions& actions);
  void start(const Prepared& prepared, Time now, Actions& actions);
  void setup_overdue(Time now, Actions& actions);
  void fail_setup(const std::string& why, Time now, Actions& actions);
  [[nodiscard]] std::vector<std::string> candidate_addresses() const;
  [[nodiscard]] std::string interface_of(std::size_t host, const std::string& address) const;

  [[nodiscard]] std::string phases(Time now) const;

  // Ending one.
  void fail(Attempt::Failure failure, Time now, Actions& actions);
  void stop_all(std::chrono::milliseconds grace, std::chrono::milliseconds slack, Time now,
                Actions& actions);
  void check_end(Time now, Actions& actions);
  void conclude(Time now, Actions& actions);
  void try_again(RestartPolicy::Cause cause, Time now, Actions& actions);
  void finish(Outcome outcome, Actions& actions);
  void overdue(Time now, Actions& actions);
  void send_to_members(const Message& message, Actions& actions);

  [[nodiscard]] std::size_t count(Host::State state) const;
  [[nodiscard]] Attempt::Clock clock() const;
  [[nodiscard]] bool elastic() const { return plan_.needed() < plan_.hosts.size(); }
  [[nodiscard]] bool stopping_for_good() const { return interrupted_ || preempted_; }
  [[nodiscard]] bool setting_up() const {
    return phase_ == Phase::kSurveying || phase_ == Phase::kReaching || phase_ == Phase::kPreparing;
  }

  JobPlan plan_;
  std::vector<Host> hosts_;
  Phase phase_ = Phase::kGathering;
  std::optional<Attempt> attempt_;
  std::uint32_t next_generation_ = 0;
  std::string address_;  // of the attempt's first host, as the others reach it
  std::string token_;
  RestartPolicy policy_;
  bool progressed_ = false;       // in this attempt
  std::optional<Time> deadline_;  // of the phase, or of stopping
  // When hosts were called, the attempt began, its address was known, its store was open.
  Time called_{}, gathered_{}, addressed_{}, prepared_{};
  Time last_tick_{};
  Time next_look_{};  // no host is silent, or due a Ping, before
  bool stopping_ = false, interrupted_ = false, preempted_ = false, noticed_ = false;
  bool failed_first_ = false;  // before we were preempted
  bool last_attempt_ = false;  // whatever the policy would allow
  bool regrowing_ = false;     // the attempt is stopped so that a host can take part again
  bool paused_ = false;
  Outcome outcome_;
};

}  // namespace lockstep::launcher
