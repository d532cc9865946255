// What an agent does, without processes, descriptors or clocks: an event in, actions out.
//
//   waiting --Start--> running --Stop--> stopping --grace over--> killing --nothing left--> gone
//      ^                  |                 |                        ^                       |
//      |                  '--all ended--> leaving -------------------'                       |
//      '------------------------------- the next generation ---------------------------------'
//
// Whatever happens, the way ends in `gone`, with no process of the attempt left: when the workers
// have ended by themselves, what they left behind is asked to end, then killed; when the
// coordinator is lost, by the end of its channel or by silence, everything is killed at once. Then
// a new attempt may start, until the agent is dismissed. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// Since any fixed point; it must not jump.
using Time = std::chrono::nanoseconds;

// How a process ended; `signal` is 0 where it exited by itself.
struct Ending {
  int code = 0;
  int signal = 0;
  Killer killer = {};
};

class AgentMachine {
 public:
  // Actions. The driver does them in order.
  struct ListenForOthers {
    Survey survey;  // answered by a Surveyed
  };
  struct TryAddresses {
    Reach reach;  // answered by a Reached
  };
  struct OpenStore {
    Prepare prepare;  // answered by a Prepared; open until CloseStore
  };
  struct CloseStore {};
  struct StartWorkers {
    HostJob job;  // answered by worker_started() or worker_not_started() for each
  };
  struct SignalGroups {
    int signal;  // to the process group of every worker that lives
  };
  struct Sweep {
    int signal;  // to every descendant, or 0 to count them only; answered by swept()
  };
  struct Send {
    Message message;
  };
  struct AddCredit {
    std::int64_t bytes;
  };
  struct DiscardOutput {};  // nobody is left to read it
  struct Exit {};           // once all that was sent has been written
  using Action = std::variant<ListenForOthers, TryAddresses, OpenStore, CloseStore, StartWorkers,
                              SignalGroups, Sweep, Send, AddCredit, DiscardOutput, Exit>;
  using Actions = std::vector<Action>;

  // What workers leave behind when all have ended by themselves has this long after SIGTERM.
  static constexpr Time kLeftoverGrace = std::chrono::seconds(1);
  static constexpr Time kSweepInterval = std::chrono::milliseconds(20);
  // After so long of SIGKILL a process hangs in the kernel, and waiting does not help.
  static constexpr Time kKillingLimit = std::chrono::seconds(10);

  // `silence`: a coordinator that says nothing for so long is lost; nothing: only the end of its
  // channel tells, as within a host.
  AgentMachine(std::optional<Time> silence, Time now) : silence_(silence), last_heard_(now) {}

  // `wall_ns`: now, since the Unix epoch.
  [[nodiscard]] Actions received(const Message& message, std::int64_t wall_ns, Time now);
  [[nodiscard]] Actions coordinator_lost(Time now);
  [[nodiscard]] Actions worker_started(std::uint32_t rank, std::int64_t pid);
  [[nodiscard]] Actions worker_not_started(std::uint32_t rank, const std::string& why);
  // `wall_ns` is the time of the end since the Unix epoch.
  [[nodiscard]] Actions worker_ended(std::uint32_t rank, Ending ending, std::int64_t wall_ns,
                                     Time now);
  [[nodiscard]] Actions swept(std::size_t living, Time now);
  // All output of all workers was read and given to the channel.
  [[nodiscard]] Actions output_drained();
  [[nodiscard]] Actions time_passed(Time now);

  // When time_passed() must be called next.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] bool gone() const { return phase_ == Phase::kGone; }
  // SIGKILL was asked for: a worker that it ends was ended by us.
  [[nodiscard]] bool has_killed() const {
    return phase_ == Phase::kKilling || phase_ == Phase::kGone;
  }

 private:
  enum class Phase { kWaiting, kRunning, kStopping, kLeaving, kKilling, kGone };

  Actions take(const Message& message, Time now);
  Actions begin_start(const Start& start);
  Actions begin_stop(const Stop& stop, Time now);
  Actions begin_kill(Time now);
  Actions dismiss(Time now);
  Actions pause(int signal);  // SIGSTOP, SIGCONT
  void leave(Actions& actions, Time now);
  void finish(Actions& actions);
  [[nodiscard]] bool idle() const { return phase_ == Phase::kWaiting || phase_ == Phase::kGone; }

  std::optional<Time> silence_;
  Time last_heard_;
  bool paused_ = false;  // the coordinator said that it would be silent
  Phase phase_ = Phase::kWaiting;
  std::uint32_t generation_ = 0;
  std::size_t living_workers_ = 0;
  std::optional<Time> kill_at_;
  std::optional<Time> sweep_at_;
  Time give_up_at_{};
  bool drained_ = false;
  bool leaving_for_good_ = false;  // dismissed, or the coordinator is lost
  bool alone_ = false;             // it is lost
};

}  // namespace lockstep::launcher
