// A start of ten thousand hosts with eight ranks each, in virtual time, with what messages cost the
// launcher on the machine that runs this test.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "launcher/process/unique_fd.h"
#include "tests/launcher/simulator/launcher_process.h"

namespace lockstep::launcher::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kHosts = 10'000;
constexpr std::uint32_t kWorkers = 8;
// From the call to the agent's first word: the processor's time of one ssh connection, both ends
// together, on the machine with two cores on which the cluster tests are developed. DialPlan has 64
// calls at once; that the launching host has the cores for 64 clients is taken for granted.
constexpr Time kCall = milliseconds(230);
// One way, within a data centre; assumed.
constexpr Time kLeastDelay = std::chrono::microseconds(50),
               kMostDelay = std::chrono::microseconds(500);

HostJob job_like_a_users() {
  HostJob job;
  job.run_id = "20260101-000000-abcd";
  job.file = "/usr/bin/python3";
  job.args = {"python3", "train.py"};
  for (int v = 0; v < 60; ++v) {
    job.environment.push_back(fmt::format("VARIABLE_{}={}", v, std::string(40, 'x')));
  }
  return job;
}

// The processor's time from one call to the next: to encode a message, frame it and write it to a
// socket; to read one, cut it out and decode it. The mean of many.
LauncherProcess::Costs measured_costs(const HostJob& job) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd one(ends[0]), other(ends[1]);
  constexpr int kRounds = 20'000;
  const auto now = [] { return Time(std::chrono::steady_clock::now().time_since_epoch()); };
  std::vector<char> buffer(std::size_t{1} << 16);
  LauncherProcess::Costs costs;
  FrameParser parser;
  std::size_t kinds = 0;
  for (int round = 0; round < kRounds; ++round) {
    // One of every eight is a Start, as in a start by Survey, Reach, Prepare, Start, Ping, Credit.
    const Message message = round % 8 == 0 ? Message(Start{job}) : Message(Ping{1});
    const Time begin = now();
    const std::string bytes = frame(encode(message));
    EXPECT_EQ(::write(one.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const Time sent = now();
    const ssize_t count = ::read(other.get(), buffer.data(), buffer.size());
    parser.add({buffer.data(), static_cast<std::size_t>(count)});
    const auto body = parser.next();
    EXPECT_TRUE(body);
    kinds += decode(*body).index();
    costs.send += sent - begin;
    costs.receive += now() - sent;
  }
  EXPECT_GT(kinds, 0U);
  return {costs.receive / kRounds, costs.send / kRounds};
}

double in_seconds(Time time) {
  return std::chrono::duration<double>(time).count();
}

TEST(SimulatorLargeStart, TenThousandHostsStartAndTheirPhasesAreTold) {
  EventQueue queue;
  Chance chance(1);
  Scenario scenario;
  scenario.plan.job = job_like_a_users();
  scenario.plan.version = "1";
  // All are called before one of them has to be there.
  scenario.plan.connect = seconds(600);
  for (std::size_t h = 0; h < kHosts; ++h) {
    scenario.plan.hosts.push_back({.name = fmt::format("node{:05}", h), .workers = kWorkers});
    scenario.hosts.push_back(
        {.delays = {.least = kLeastDelay, .most = kMostDelay}, .start_time = kCall});
  }
  scenario.attempts_fail = scenario.grandchildren = scenario.progress = 0;
  scenario.not_started_per_mille = 0;
  scenario.hang = 100;
  Checker checker(scenario, queue);
  World world{queue,
              chance,
              checker,
              scenario,
              PlantedBug::kNone,
              [](const std::function<std::string()>&) {}};
  std::vector<std::unique_ptr<AgentProcess>> agents;
  const LauncherProcess::Costs costs = measured_costs(scenario.plan.job);
  LauncherProcess launcher(
      world,
      [&](std::size_t host, Pipe::Deliver deliver) {
        agents.push_back(
            std::make_unique<AgentProcess>(world, agents.size(), host, std::move(deliver)));
        return agents.back().get();
      },
      costs);
  const auto span = [&launcher](const Message& kind) { return launcher.spans()[kind.index()]; };
  launcher.begin();
  const auto simulation_began = std::chrono::steady_clock::now();
  while (queue.next() && *queue.next() < seconds(600) &&
         span(Started{}).count < kHosts * kWorkers) {
    queue.step();
  }
  const double real =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - simulation_began).count();
  ASSERT_EQ(checker.broken(), "");
  ASSERT_EQ(span(Started{}).count, kHosts * kWorkers);
  const auto row = [](const char* phase, Time begin, Time end) {
    fmt::print("| {:<40} | {:8.3f} | {:8.3f} |\n", phase, in_seconds(begin), in_seconds(end));
  };
  fmt::print("a message costs {:.2f} us to send, {:.2f} us to receive\n",
             in_seconds(costs.send) * 1e6, in_seconds(costs.receive) * 1e6);
  fmt::print("| {:<40} | {:>8} | {:>8} |\n", "phase", "begins s", "ends s");
  row("connect: called to the last Ready", Time(0), span(Ready{}).last);
  row("survey: Survey to Surveyed", span(Survey{}).first, span(Surveyed{}).last);
  row("reach: Reach to the last Reached", span(Reach{}).first, span(Reached{}).last);
  row("prepare: Prepare to Prepared", span(Prepare{}).first, span(Prepared{}).last);
  row("start: the first Start to the last", span(Start{}).first, span(Start{}).last);
  row("started: to the last Started", span(Start{}).last, span(Started{}).last);
  fmt::print("real time of the whole simulation {:.1f} s\n", real);
  EXPECT_LT(span(Started{}).last - span(Ready{}).last, seconds(60));
}

// What the coordinator itself keeps a host, apart from the simulation.
TEST(SimulatorLargeStart, ACoordinatorKeepsAtMostThreeKibibytesAHost) {
  JobPlan plan;
  plan.job = job_like_a_users();
  plan.version = "1";
  for (std::size_t h = 0; h < kHosts; ++h) {
    plan.hosts.push_back({.name = fmt::format("node{:05}", h), .workers = kWorkers});
  }
  const std::size_t before = ::mallinfo2().uordblks;
  CoordinatorMachine machine(plan);
  (void)machine.begin(Time(0));
  for (std::size_t h = 0; h < kHosts; ++h) {
    (void)machine.received(h, Ready{"1", plan.hosts[h].name, 1, {{"10.0.0.1", "eth0"}}}, Time(1));
  }
  (void)machine.received(0, Surveyed{0, 77}, Time(1));
  for (std::size_t h = 1; h < kHosts; ++h) {
    (void)machine.received(h, Reached{0, {"10.0.0.1"}, {"eth0"}}, Time(1));
  }
  (void)machine.received(0, Prepared{0, 4'000, 5'000, {}}, Time(1));
  for (std::size_t h = 0; h < kHosts; ++h) {
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      const auto rank = static_cast<std::uint32_t>(h) * kWorkers + w;
      (void)machine.received(h, Started{rank, 1}, Time(1));
    }
  }
  const std::size_t kept = ::mallinfo2().uordblks - before;
  fmt::print("the coordinator keeps {:.1f} MiB for {} hosts with {} ranks\n",
             static_cast<double>(kept) / (1 << 20), kHosts, kHosts * kWorkers);
  EXPECT_LT(kept, kHosts * 3'072);
}

}  // namespace
}  // namespace lockstep::launcher::simulator
