#include "tests/launcher/simulator/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::launcher::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<const char*, 15> kNames = {"host crash",       "host crash and return",
                                                "agent crash",      "guard crash",
                                                "agent stop",       "agent stop and continue",
                                                "partition",        "partition that is mended",
                                                "connection reset", "interrupt",
                                                "two interrupts",   "preemption",
                                                "notice",           "pause and resume",
                                                "launcher crash"};

// As many small clusters as large ones, on a logarithmic scale.
std::size_t draw_host_count(Chance& chance) {
  const std::uint64_t low = std::uint64_t{2} << chance.below(5);
  return low + chance.below(low + 1);
}

SimulatedHost draw_host(Chance& chance, bool bad_network) {
  SimulatedHost host;
  host.delays.least = chance.between(Time(50'000), milliseconds(2));
  host.delays.most = host.delays.least + chance.between(Time(50'000), milliseconds(3));
  if (bad_network) host.delays.lossy_per_mille = static_cast<unsigned>(chance.below(20));
  if (chance.percent(5)) host.delays.most += milliseconds(150);  // a slow host
  host.start_time = chance.between(milliseconds(50), milliseconds(400));
  host.clock_offset = chance.between(-seconds(100), seconds(100));
  if (chance.below(400) == 0) {
    host.answer = static_cast<Answer>(1 + chance.below(3));
    host.calls_until_agent = chance.percent(50) ? 1 + static_cast<unsigned>(chance.below(3)) : 1000;
  } else if (chance.percent(2)) {
    host.answer = Answer::kTurnsAway;
    host.calls_until_agent = 2;
  }
  return host;
}

}  // namespace

bool Scenario::has(Fault::Kind kind) const {
  return std::ranges::count(faults, kind, &Fault::kind) > 0;
}

bool Scenario::calm() const {
  const bool quick = std::ranges::all_of(hosts, [](const SimulatedHost& host) {
    return host.delays.lossy_per_mille == 0 && host.delays.most < milliseconds(50);
  });
  return quick && std::ranges::all_of(faults, [](const Fault& fault) {
           return fault.kind == Fault::Kind::kInterrupt ||
                  fault.kind == Fault::Kind::kInterruptTwice ||
                  fault.kind == Fault::Kind::kNotice || fault.kind == Fault::Kind::kPreempt;
         });
}

Scenario draw_scenario(Chance& chance) {
  Scenario drawn;
  const std::size_t count = draw_host_count(chance);
  const bool bad_network = chance.percent(25);
  JobPlan& plan = drawn.plan;
  for (std::size_t h = 0; h < count; ++h) {
    plan.hosts.push_back({.name = fmt::format("h{}", h),
                          .workers = 1 + static_cast<std::uint32_t>(chance.below(3))});
    drawn.hosts.push_back(draw_host(chance, bad_network));
  }
  plan.version = "1";
  plan.job.run_id = "run";
  plan.grace = milliseconds(200 + chance.below(2'000));
  plan.max_restarts = chance.percent(50) ? static_cast<std::uint32_t>(chance.below(4)) : 0;
  if (chance.percent(35)) {
    plan.least_hosts = 1 + chance.below(count);
    plan.most_hosts = plan.least_hosts + chance.below(count - plan.least_hosts + 1);
  }
  drawn.preemption_grace = milliseconds(500 + chance.below(4'000));
  if (chance.percent(25)) drawn.attempts_fail = 0;

  std::vector<bool> struck(count);
  const std::uint64_t faults = chance.below(4);
  for (std::uint64_t f = 0; f < faults; ++f) {
    Fault fault{static_cast<Fault::Kind>(chance.below(kNames.size())), chance.below(count),
                chance.between(Time(0), seconds(chance.percent(50) ? 2 : 10)),
                chance.between(milliseconds(50), seconds(12))};
    // A paused launcher's agents wait for it, cut off or not, and their end needs the network.
    if (fault.kind == Fault::Kind::kPause) {
      std::erase_if(drawn.faults, [](const Fault& other) {
        return other.kind <= Fault::Kind::kPartitionMended || other.kind == Fault::Kind::kPause;
      });
    } else if (fault.kind <= Fault::Kind::kPartitionMended && drawn.has(Fault::Kind::kPause)) {
      continue;
    }
    if (fault.kind <= Fault::Kind::kReset) {
      if (struck[fault.host]) continue;
      struck[fault.host] = true;
    }
    drawn.faults.push_back(fault);
  }
  return drawn;
}

std::string describe(const Fault& fault) {
  return fmt::format("{} (host {}, lasting {:.3f} s where it is undone)",
                     kNames.at(static_cast<std::size_t>(fault.kind)), fault.host,
                     std::chrono::duration<double>(fault.lasts).count());
}

}  // namespace lockstep::launcher::simulator
