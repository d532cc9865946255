// An agent of a simulated host with its guard, its workers and what those leave behind: the
// product's machines, driven as agent.cc and guard.cc drive them.
//
// Thread rule: one thread. It must outlive the queue's events.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "launcher/agent/agent_machine.h"
#include "launcher/agent/guard_machine.h"
#include "launcher/agent/outbound.h"
#include "launcher/protocol/frame.h"
#include "tests/launcher/simulator/checker.h"
#include "tests/launcher/simulator/event_queue.h"
#include "tests/launcher/simulator/pipe.h"
#include "tests/launcher/simulator/planted_bug.h"
#include "tests/launcher/simulator/scenario.h"

namespace lockstep::launcher::simulator {

// What all parts of a history share.
struct World {
  EventQueue& queue;
  Chance& chance;
  Checker& checker;
  const Scenario& scenario;
  PlantedBug bug;
  std::function<void(const std::function<std::string()>&)> log;  // costs nothing unless printed
};

class AgentProcess {
 public:
  AgentProcess(World& world, AgentId id, std::size_t host, Pipe::Deliver to_coordinator);
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  void begin();
  [[nodiscard]] Pipe& inbound() { return inbound_; }  // from the coordinator
  [[nodiscard]] Pipe& outward() { return outbound_pipe_; }
  [[nodiscard]] AgentId id() const { return id_; }
  [[nodiscard]] std::size_t host() const { return host_; }

  void crash();        // SIGKILL
  void guard_crash();  // of the guard alone
  void stop();
  void go_on();
  void host_crash();
  void reset_connection();

 private:
  enum class Doing { kIts, kOurs };  // whose an end is: did a signal of ours bring it about?
  struct Process {
    std::uint32_t generation = 0, rank = 0;
    bool grandchild = false;
    bool alive = true, reaped = false, stopped = false, ignores_term = false;
    bool acts_on_notice = false;
    int code_after_term = 0;  // 0: TERM ends it
    std::uint64_t lines = 0;
    std::optional<std::pair<Ending, Doing>> waits;  // would have ended, but is stopped
  };

  void receive(std::optional<std::string> bytes);
  void take(const std::optional<std::string>& bytes);
  void perform(const AgentMachine::Actions& actions);
  void perform(const GuardMachine::Actions& actions);
  void start_workers(const HostJob& job);
  void draw_fate(std::size_t index, Time duration, std::optional<Time> failure);
  void print(Process& process);
  void end_later(std::size_t index, Time delay, Ending ending, Doing doing);
  void end(std::size_t index, Ending ending, Doing doing);
  void signal(std::size_t index, int number);
  std::size_t sweep(int number);
  void reap();
  void pump();
  void wake_at(Time when);
  void look_after_agent();
  void leave();
  [[nodiscard]] bool runs() const { return alive_ && !stopped_; }
  [[nodiscard]] std::int64_t wall() const;

  World& world_;
  AgentId id_;
  std::size_t host_;
  AgentMachine machine_;
  GuardMachine guard_;
  Outbound outbound_;
  FrameParser parser_;
  Pipe inbound_, outbound_pipe_;
  std::deque<Process> processes_;
  std::deque<std::size_t> unreaped_;
  std::deque<std::optional<std::string>> unread_;  // while it is stopped
  std::optional<Time> wake_;
  std::optional<Time> started_at_;
  bool alive_ = true, stopped_ = false, exit_ = false, lost_ = false;
  bool guard_alive_ = true, down_ = false;
};

}  // namespace lockstep::launcher::simulator
