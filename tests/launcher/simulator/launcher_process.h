// The launcher of a simulated job: the product's coordinator and dial plan, driven as
// coordinator.cc drives them.
//
// Thread rule: one thread. It must outlive the queue's events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/coordinator/coordinator_machine.h"
#include "launcher/protocol/frame.h"
#include "launcher/remote/dial_plan.h"
#include "tests/launcher/simulator/agent_process.h"

namespace lockstep::launcher::simulator {

class LauncherProcess {
 public:
  // Starts an agent there; null where the host is silent.
  using MakeAgent = std::function<AgentProcess*(std::size_t host, Pipe::Deliver to_launcher)>;
  // What a message costs the launcher's processor; it does one thing after the other.
  struct Costs {
    Time receive{}, send{};
  };

  LauncherProcess(World& world, MakeAgent make_agent, Costs costs);
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  void begin();
  void interrupt();
  void preempt();
  void notice();
  void pause();
  void go_on();
  void crash();

  [[nodiscard]] bool finished() const { return finished_at_.has_value(); }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] const Outcome& outcome() const { return machine_.outcome(); }
  // The agent whose channel it holds on that host; null: none.
  [[nodiscard]] AgentProcess* agent(std::size_t host) const { return links_[host].agent; }
  [[nodiscard]] std::optional<std::uint32_t> generation() const { return generation_; }
  [[nodiscard]] Time last_action() const { return last_action_; }

  // When the first and the last message of a kind went through, for the phases of a start.
  struct Span {
    Time first{}, last{};
    std::size_t count = 0;
  };
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }  // by Message::index()

 private:
  struct Link {
    AgentProcess* agent = nullptr;
    std::unique_ptr<FrameParser> parser;
    std::uint64_t call = 0;  // counts calls; an answer to an older one is nobody's
    unsigned calls = 0;
    bool ready = false;
  };
  struct Arrival {
    std::size_t host;
    AgentProcess* from;
    std::optional<std::string> bytes;
  };

  void arrived(std::size_t host, AgentProcess* from, std::optional<std::string> bytes);
  void turn_at(Time when);
  void turn();
  void take(const Arrival& arrival);
  void pass_on(std::size_t host, Message message);
  void perform(CoordinatorMachine::Actions actions);
  void send(std::size_t host, const Message& message);
  void note_sent(std::size_t host, const Message& message);
  void show(std::size_t host, const Output& output);
  void call_hosts();
  void call(std::size_t host);
  void answered_without_agent(std::size_t host, Answer answer);
  void drop(std::size_t host);
  void count(const Message& message);
  void end();
  [[nodiscard]] Time now() const { return world_.queue.now() + spent_; }

  World& world_;
  MakeAgent make_agent_;
  Costs costs_;
  CoordinatorMachine machine_;
  DialPlan dial_plan_;
  std::vector<Link> links_;
  std::deque<Arrival> inbox_;
  std::deque<std::function<void()>> signals_;  // while it is stopped
  std::optional<Time> turn_;
  Time spent_{}, busy_until_{};
  std::optional<Time> finished_at_;
  std::optional<std::uint32_t> generation_;
  Time last_action_{};
  std::vector<Span> spans_ = std::vector<Span>(std::variant_size_v<Message>);
  bool over_ = false, dead_ = false, paused_ = false;
};

}  // namespace lockstep::launcher::simulator
