// What Ctrl-Z, fg and bg at `lockstep launch` mean for its job. Pure: an event in, actions out.
//
//   running --TSTP--> telling --all told, or too late--> stopped --CONT--> running
//
// Workers have their own process groups (on other hosts there is no terminal at all), so a terminal
// stops only the launcher: it has to pass the signal on before it stops itself, and again when it
// goes on. Thread rule: one thread.
//
// How it is driven: SIGTSTP and SIGCONT are among the coordinator's Signals (which leaves a signal
// alone that was ignored at the start) and go to signalled(); for SignalWorkers every agent is told
// to signal its workers' groups, and told() is called when nothing waits to be written to any;
// StopSelf is raise(SIGSTOP), since SIGTSTP is blocked. An agent that was told SIGTSTP does not
// take its coordinator's silence for its loss until it is told SIGCONT (the channel's end still
// counts); and before it sends SIGTERM to workers that are stopped it sends SIGCONT.
#pragma once

#include <chrono>
#include <optional>
#include <variant>
#include <vector>

namespace lockstep::launcher {

class JobControl {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point; it must not jump

  struct SignalWorkers {
    int signal;  // to the process groups of all workers, on every host
  };
  struct StopSelf {};
  using Action = std::variant<SignalWorkers, StopSelf>;
  using Actions = std::vector<Action>;

  // A host that does not take the news keeps nobody's terminal.
  static constexpr Time kTelling = std::chrono::milliseconds(500);

  // REQUIRES: SIGTSTP or SIGCONT.
  [[nodiscard]] Actions signalled(int number, Time now);
  // All that SignalWorkers asked for was written to every agent.
  [[nodiscard]] Actions told();
  [[nodiscard]] Actions time_passed(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return stop_at_; }

  // Between StopSelf and SIGCONT no agent's silence counts: it was we who did not listen.
  [[nodiscard]] bool stopped() const { return phase_ == Phase::kStopped; }

 private:
  enum class Phase { kRunning, kTelling, kStopped };

  Actions stop();

  Phase phase_ = Phase::kRunning;
  std::optional<Time> stop_at_;
};

}  // namespace lockstep::launcher
