// What a guard decides, without processes, descriptors or clocks: an event in, actions out.
//
//   watching --agent ended without a word, or silent--> ending --nothing left--> over
//       '------released, then ended--------------------------------------------->'
//
// Silence is counted in looks: only time in which the guard itself ran. A host that was suspended,
// or a job that was stopped as a whole, finds its agent unharmed when it goes on.
// Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::launcher {

class GuardMachine {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point; it must not jump back

  // Actions. The driver does them in order.
  struct EndJob {};  // all of the job on this host, its agent too; answered by swept()
  struct Complain {
    std::string text;
  };
  struct Leave {};
  using Action = std::variant<EndJob, Complain, Leave>;
  using Actions = std::vector<Action>;

  // An agent that gives no beat for so long is stopped or wedged.
  static constexpr Time kSilence = std::chrono::seconds(10);
  static constexpr Time kSweepInterval = std::chrono::milliseconds(20);
  // After so long of SIGKILL a process hangs in the kernel, and waiting does not help.
  static constexpr Time kEndingLimit = std::chrono::seconds(10);

  GuardMachine(Time silence, Time now) : silence_(silence), looked_at_(now) {}

  // The agent heard of its coordinator, or stands in for it.
  [[nodiscard]] Actions beat(Time now);
  // Nothing of the job is left, says the agent: it ends next.
  [[nodiscard]] Actions released();
  // The agent's process has ended, however.
  [[nodiscard]] Actions agent_ended(Time now);
  // What EndJob found.
  [[nodiscard]] Actions swept(std::size_t living, Time now);
  [[nodiscard]] Actions time_passed(Time now);

  // When time_passed() must be called next; nullopt where nothing is waited for.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  enum class Phase { kWatching, kReleased, kEnding, kOver };

  // How long the guard may have slept beyond its deadline and still count all of it.
  [[nodiscard]] Time look_interval() const { return silence_ / 10; }
  Actions end_job(Time now);
  Actions leave();

  Time silence_;
  Time looked_at_;
  Time silent_{};
  Phase phase_ = Phase::kWatching;
  bool agent_lives_ = true;
  Time sweep_at_{};
  Time give_up_at_{};
};

}  // namespace lockstep::launcher
