#include "tests/launcher/simulator/launcher_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace lockstep::launcher::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time kFarewell = seconds(1);  // as in coordinator.cc

JobPlan plan_with(JobPlan plan, PlantedBug bug) {
  if (bug == PlantedBug::kSilenceIsNotNoticed) plan.silence = std::chrono::hours(1);
  return plan;
}

}  // namespace

LauncherProcess::LauncherProcess(World& world, MakeAgent make_agent, Costs costs)
    : world_(world),
      make_agent_(std::move(make_agent)),
      costs_(costs),
      machine_(plan_with(world.scenario.plan, world.bug)),
      dial_plan_(world.scenario.hosts.size(), world.scenario.plan.connect,
                 static_cast<unsigned>(world.chance.below(1U << 31U))),
      links_(world.scenario.hosts.size()) {}

void LauncherProcess::begin() {
  perform(machine_.begin(now()));
  turn();
}

void LauncherProcess::arrived(std::size_t host, AgentProcess* from,
                              std::optional<std::string> bytes) {
  if (dead_ || over_) return;
  inbox_.push_back({host, from, std::move(bytes)});
  if (!paused_) turn_at(busy_until_);
}

void LauncherProcess::turn_at(Time when) {
  when = std::max({when, busy_until_, world_.queue.now()});
  if (turn_ && *turn_ <= when) return;
  turn_ = when;
  world_.queue.at(when, [this, when] {
    if (turn_ != when) return;
    turn_.reset();
    turn();
  });
}

// Once round the loop of Coordinator::run().
void LauncherProcess::turn() {
  if (dead_ || over_ || paused_) return;
  spent_ = {};
  while (!signals_.empty()) {
    const auto signal = std::move(signals_.front());
    signals_.pop_front();
    signal();
    if (paused_) return;
  }
  for (std::size_t most = 64; most > 0 && !inbox_.empty(); --most) {
    const Arrival arrival = std::move(inbox_.front());
    inbox_.pop_front();
    take(arrival);
  }
  perform(machine_.time_passed(now()));
  call_hosts();
  busy_until_ = world_.queue.now() + spent_;
  if (finished_at_) {
    const bool alone =
        std::ranges::all_of(links_, [](const Link& link) { return link.agent == nullptr; });
    if (alone || now() >= *finished_at_ + kFarewell) {
      end();
      return;
    }
    turn_at(*finished_at_ + kFarewell);
  }
  if (!inbox_.empty()) turn_at(busy_until_);
  if (const auto next = machine_.deadline()) turn_at(*next);
  if (const auto next = dial_plan_.next(); next && !finished_at_) turn_at(*next);
}

void LauncherProcess::take(const Arrival& arrival) {
  Link& link = links_[arrival.host];
  if (arrival.from != link.agent) return;  // it was dropped meanwhile
  if (!arrival.bytes) {
    drop(arrival.host);
    dial_plan_.failed(arrival.host);
    world_.log([&] { return fmt::format("launcher: the channel to host {} ended", arrival.host); });
    perform(machine_.agent_lost(arrival.host, 1, "lost its agent", now()));
    return;
  }
  link.parser->add(*arrival.bytes);
  while (links_[arrival.host].agent == arrival.from) {
    const auto body = link.parser->next();
    if (!body) return;
    spent_ += costs_.receive;
    pass_on(arrival.host, decode(*body));
  }
}

void LauncherProcess::pass_on(std::size_t host, Message message) {
  count(message);
  AgentProcess& agent = *links_[host].agent;
  if (std::holds_alternative<Ready>(message)) {
    dial_plan_.answered(host);
    links_[host].ready = true;
  }
  if (std::holds_alternative<Gone>(message)) world_.checker.said_gone(agent.id());
  if (!std::holds_alternative<Pong>(message)) {
    world_.log([&] {
      return fmt::format("launcher: message kind {} from host {}", message.index(), host);
    });
    last_action_ = now();
  }
  if (auto* ended = std::get_if<Ended>(&message)) {
    // Where no Pong has come yet, the moment of arrival counts.
    world_.checker.failure_learnt(agent.id(), *ended,
                                  agent.outward().slowest() + agent.inbound().slowest());
    if (world_.bug == PlantedBug::kLastFailureIsCulprit) ended->time_ns = -ended->time_ns;
  }
  perform(machine_.received(host, std::move(message), now()));
}

void LauncherProcess::perform(CoordinatorMachine::Actions actions) {
  std::size_t last_stop = actions.size();
  for (std::size_t a = 0; a < actions.size(); ++a) {
    const auto* to = std::get_if<CoordinatorMachine::SendTo>(&actions[a]);
    if (to != nullptr && std::holds_alternative<Stop>(to->message)) last_stop = a;
  }
  std::vector<std::pair<std::size_t, std::uint32_t>> untrue;
  for (std::size_t a = 0; a < actions.size(); ++a) {
    CoordinatorMachine::Action& action = actions[a];
    if (auto* to = std::get_if<CoordinatorMachine::SendTo>(&action)) {
      if (world_.bug == PlantedBug::kStopForgetsAHost && a == last_stop) continue;
      if (const auto* stop = std::get_if<Stop>(&to->message)) {
        untrue.emplace_back(to->host, stop->generation);
      }
      send(to->host, to->message);
    } else if (auto* shown = std::get_if<CoordinatorMachine::Show>(&action)) {
      show(shown->host, shown->output);
    } else if (auto* connect = std::get_if<CoordinatorMachine::Connect>(&action)) {
      dial_plan_.want(connect->host, connect->at);
    } else if (auto* ends = std::get_if<CoordinatorMachine::EndAgent>(&action)) {
      world_.log([&] { return fmt::format("launcher: gives host {} up", ends->host); });
      if (const AgentProcess* given_up = links_[ends->host].agent) {
        world_.checker.given_up(given_up->id());
      }
      drop(ends->host);
      dial_plan_.failed(ends->host);
      last_action_ = now();
    } else if (auto* says = std::get_if<CoordinatorMachine::Say>(&action)) {
      world_.log([&] { return "launcher says: " + says->text; });
    } else {
      finished_at_ = now();
      const Outcome& outcome = machine_.outcome();
      world_.log([&] { return fmt::format("launcher: finished, code {}", outcome.code); });
      world_.checker.finished(outcome);
    }
  }
  if (world_.bug != PlantedBug::kRestartsWithoutGone) return;
  for (const auto& [host, generation] : untrue) {
    perform(machine_.received(host, Gone{generation}, now()));
    perform(machine_.received(host, Drained{generation}, now()));
  }
}

void LauncherProcess::send(std::size_t host, const Message& message) {
  if (links_[host].agent == nullptr) return;
  count(message);
  note_sent(host, message);
  spent_ += costs_.send;
  AgentProcess* agent = links_[host].agent;
  std::string bytes = frame(encode(message));
  if (spent_ == Time::zero()) {
    agent->inbound().send(std::move(bytes));
  } else {
    world_.queue.after(spent_, [agent, sent = std::move(bytes)] { agent->inbound().send(sent); });
  }
}

void LauncherProcess::note_sent(std::size_t host, const Message& message) {
  AgentProcess& agent = *links_[host].agent;
  if (!std::holds_alternative<Ping>(message) && !std::holds_alternative<Credit>(message)) {
    last_action_ = now();
    world_.log(
        [&] { return fmt::format("launcher: message kind {} to host {}", message.index(), host); });
  }
  if (const auto* start = std::get_if<Start>(&message)) {
    generation_ = start->job.generation;
    world_.checker.start_sent(agent.id(), start->job);
  } else if (std::holds_alternative<Stop>(message) || std::holds_alternative<Kill>(message) ||
             std::holds_alternative<Dismiss>(message)) {
    world_.checker.told_to_end(agent.id());
  }
}

void LauncherProcess::show(std::size_t host, const Output& output) {
  world_.checker.shown(output);
  if (world_.bug == PlantedBug::kOutputIsShownTwice) world_.checker.shown(output);
  send(host, Credit{static_cast<std::int64_t>(output.bytes.size())});
}

void LauncherProcess::call_hosts() {
  if (finished_at_) return;
  for (const std::size_t host : dial_plan_.overdue(now())) {
    drop(host);
    dial_plan_.failed(host);
    world_.log([&] { return fmt::format("launcher: host {} does not answer", host); });
    perform(machine_.not_reached(host, "could not be reached", now()));
  }
  for (const std::size_t host : dial_plan_.due(now())) call(host);
}

void LauncherProcess::call(std::size_t host) {
  const SimulatedHost& its = world_.scenario.hosts[host];
  Link& link = links_[host];
  const std::uint64_t call = ++link.call;
  const Answer answer = link.calls++ < its.calls_until_agent ? its.answer : Answer::kAgent;
  if (answer == Answer::kSilent) return;
  world_.queue.after(its.start_time, [this, host, call, answer] {
    if (dead_ || over_ || links_[host].call != call || links_[host].agent != nullptr) return;
    if (answer != Answer::kAgent) {
      signals_.emplace_back([this, host, call, answer] {
        if (links_[host].call == call && !finished_at_) answered_without_agent(host, answer);
      });
      if (!paused_) turn_at(busy_until_);
      return;
    }
    // Which agent spoke is known once it has been made.
    const auto from = std::make_shared<AgentProcess*>(nullptr);
    *from = make_agent_(host, [this, host, from](std::optional<std::string> bytes) {
      arrived(host, *from, std::move(bytes));
    });
    if (*from == nullptr) return;
    links_[host].agent = *from;
    links_[host].parser = std::make_unique<FrameParser>();
    links_[host].ready = false;
    (*from)->begin();
  });
}

void LauncherProcess::answered_without_agent(std::size_t host, Answer answer) {
  if (answer == Answer::kTurnsAway && dial_plan_.turned_away(host, now())) return;
  dial_plan_.failed(host);
  perform(machine_.agent_lost(host, 1, "refused the connection", now()));
}

void LauncherProcess::drop(std::size_t host) {
  Link& link = links_[host];
  ++link.call;
  if (link.agent == nullptr) return;
  world_.checker.detached(link.agent->id());
  link.agent->inbound().close();
  link.agent->outward().drop();
  // Whatever cut it off: it ends its workers once it has heard nothing for ten seconds, or its
  // guard does once it was stopped for so long; and a process takes a moment to end.
  const AgentId id = link.agent->id();
  world_.queue.after(seconds(10) + milliseconds(1'500), [this, id, host] {
    world_.checker.expect(world_.checker.living(id) == 0, [host] {
      return fmt::format("workers of host {} outlive their coordinator by more than 11.5 s", host);
    });
  });
  link.agent = nullptr;
}

void LauncherProcess::count(const Message& message) {
  Span& span = spans_[message.index()];
  if (span.count++ == 0) span.first = now();
  span.last = now();
}

void LauncherProcess::end() {
  over_ = true;
  for (std::size_t h = 0; h < links_.size(); ++h) drop(h);
  inbox_.clear();
}

void LauncherProcess::crash() {
  if (over_ || dead_) return;
  end();
  over_ = false;
  dead_ = true;
}

void LauncherProcess::interrupt() {
  signals_.emplace_back([this] {
    world_.checker.user_interrupts();
    perform(machine_.interrupted("interrupted", now()));
  });
  if (!paused_) turn_at(busy_until_);
}

void LauncherProcess::preempt() {
  signals_.emplace_back([this] {
    world_.checker.asked_to_end();
    perform(machine_.preempted(
        "got SIGTERM", std::chrono::duration_cast<milliseconds>(world_.scenario.preemption_grace),
        now()));
  });
  if (!paused_) turn_at(busy_until_);
}

void LauncherProcess::notice() {
  signals_.emplace_back([this] {
    world_.checker.asked_to_end();
    perform(machine_.noticed(SIGUSR1, now()));
  });
  if (!paused_) turn_at(busy_until_);
}

void LauncherProcess::pause() {
  signals_.emplace_back([this] {
    if (finished_at_) return;
    perform(machine_.pausing());
    paused_ = true;
  });
  if (!paused_) turn_at(busy_until_);
}

void LauncherProcess::go_on() {
  if (!std::exchange(paused_, false)) return;
  signals_.emplace_front([this] { perform(machine_.resumed(now())); });
  turn_at(busy_until_);
}

}  // namespace lockstep::launcher::simulator
