// The promises of the launcher's protocol, checked against what really happened in a history: the
// checker sees the hosts' processes, which the coordinator cannot.
//
// An agent is *attached* while the coordinator holds its channel. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/coordinator/outcome.h"
#include "launcher/protocol/message.h"
#include "tests/launcher/simulator/event_queue.h"
#include "tests/launcher/simulator/scenario.h"

namespace lockstep::launcher::simulator {

using AgentId = std::size_t;

// How a worker really ended.
struct TrueEnd {
  AgentId agent = 0;
  std::uint32_t generation = 0, rank = 0;
  Time at{};
  int code = 0, signal = 0;
  bool by_itself = false;  // no signal of ours made it end
};

class Checker {
 public:
  Checker(const Scenario& scenario, const EventQueue& queue) : scenario_(scenario), queue_(queue) {}

  // The first broken promise, in words; empty while all are kept.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  void expect(bool kept, const std::function<std::string()>& promise) {
    if (!kept && broken_.empty()) broken_ = promise();
  }

  // Of agents.
  void agent_began(AgentId agent, std::size_t host);
  void detached(AgentId agent);
  // A fault of the history struck it: it may fall silent.
  void befell(AgentId agent) { agents_.at(agent).struck = true; }
  void given_up(AgentId agent);
  void process_began(AgentId agent, std::uint32_t generation);
  void process_ended(AgentId agent, std::uint32_t generation);
  void worker_ended(const TrueEnd& end);
  [[nodiscard]] std::size_t living(AgentId agent) const;
  // Of generations up to that, where attached.
  [[nodiscard]] std::size_t living_attached(std::uint32_t generation) const;

  // Of the coordinator.
  void start_sent(AgentId agent, const HostJob& job);
  void told_to_end(AgentId agent);
  void said_gone(AgentId agent);
  // An Ended came and was passed on; `slack`: by how much its agent's clock may be misjudged.
  void failure_learnt(AgentId agent, const Ended& ended, Time slack);
  void shown(const Output& output);
  void user_interrupts() { interrupted_ = true; }
  void asked_to_end() { asked_ = true; }  // preempted or noticed
  void finished(const Outcome& outcome);

  // After every event.
  void check();

 private:
  struct Agent {
    std::size_t host = 0;
    bool attached = true, struck = false;
    std::map<std::uint32_t, std::size_t> living;  // by generation
    bool owes_word = false;                       // it was sent Start and then no end
  };
  struct Learnt {
    std::uint32_t rank;
    Time at;  // truly
    Time slack;
    bool by_itself;
  };
  void check_told();
  void check_failure(const Outcome& outcome);

  const Scenario& scenario_;
  const EventQueue& queue_;
  std::string broken_;
  std::vector<Agent> agents_;
  std::map<std::uint32_t, std::size_t> attached_living_;  // by generation; no zeros
  std::optional<std::uint32_t> generation_;               // the newest that was started
  std::vector<Learnt> learnt_;                            // of that generation
  std::map<std::uint32_t, TrueEnd> ends_;                 // of that generation, by rank
  std::map<std::uint64_t, std::uint64_t> shown_;          // the last line of (generation, rank)
  std::uint32_t world_ = 0;
  std::optional<Time> told_at_;  // that this generation ends, the first of its hosts
  bool interrupted_ = false, asked_ = false;
  bool telling_ = false;  // that the attempt ends, in this event
};

}  // namespace lockstep::launcher::simulator
