// What the coordinator decides, without processes, descriptors or clocks: an event in, actions out.
//
// It starts the workers once every agent is ready; at the first failure, or at an interrupt, it has
// all agents stop theirs; it ends when every agent has said that nothing is left and all output
// has been passed on. The failure that counts is the earliest by the agents' clocks; what fails
// after it is its chorus. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/coordinator/outcome.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

struct JobPlan {
  HostJob job;                                  // without what differs between hosts
  std::vector<std::uint32_t> workers_per_host;  // one entry an agent, each at least 1
  std::string version;                          // what every agent must be
  std::chrono::milliseconds grace{1000};        // between SIGTERM and SIGKILL
};

class CoordinatorMachine {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point; it must not jump

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
  struct EndAgent {
    std::size_t host;  // by SIGKILL
  };
  struct Sweep {};  // kill every process below this one and wait until there is none
  struct Finish {};
  using Action = std::variant<SendTo, Show, Say, EndAgent, Sweep, Finish>;
  using Actions = std::vector<Action>;

  // At an interrupt everything must be gone within 2 s: the grace is at most this...
  static constexpr std::chrono::milliseconds kInterruptGrace{1000};
  // ...and an agent that has not answered so long after the grace is ended with all its tree.
  static constexpr std::chrono::milliseconds kInterruptSlack{600};
  static constexpr std::chrono::milliseconds kFailureSlack{5000};
  // How long an interrupted job's last output is waited for when nobody reads ours.
  static constexpr std::chrono::milliseconds kLastOutput{200};

  explicit CoordinatorMachine(JobPlan plan);

  [[nodiscard]] Actions received(std::size_t host, Message message, Time now);
  // The agent's process has ended; `why` completes "the agent on HOST ...".
  [[nodiscard]] Actions agent_lost(std::size_t host, int code, const std::string& why, Time now);
  [[nodiscard]] Actions interrupted(const std::string& by, Time now);
  [[nodiscard]] Actions time_passed(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return deadline_; }

  // REQUIRES: Finish was among the actions.
  [[nodiscard]] Outcome outcome() const;

 private:
  struct Host {
    std::uint32_t first_rank = 0;
    std::string name = "this host";
    std::int64_t agent_pid = 0;
    std::uint16_t port = 0;
    bool ready = false, gone = false, drained = false, lost = false;
  };
  struct Worker {
    std::size_t host = 0;
    std::int64_t pid = 0;
    std::optional<Ended> ended;
    std::string last_errors;  // the end of its standard error
  };
  struct Failure {
    std::int64_t time_ns = 0;
    Culprit culprit;
    int code = 1;
    ExitSource source = ExitSource::kWorker;
  };

  void start_if_all_ready(Actions& actions);
  void record_end(const Ended& ended, Actions& actions, Time now);
  void fail(Failure failure, Actions& actions, Time now);
  void stop_all(std::chrono::milliseconds grace, std::chrono::milliseconds slack, Actions& actions,
                Time now);
  void check_end(Actions& actions, Time now);
  [[nodiscard]] bool all(bool Host::*flag) const;
  void remember_errors(const Output& output);

  JobPlan plan_;
  std::vector<Host> hosts_;
  std::vector<Worker> workers_;
  std::vector<Failure> failures_;
  std::optional<Time> deadline_;
  bool stopping_ = false, interrupted_ = false, finished_ = false;
};

}  // namespace lockstep::launcher
