// Ranks to hosts.
#include "launcher/hosts/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "launcher/hosts/host_file.h"
#include "tests/launcher/hosts/readable_hosts.h"

namespace lockstep::launcher {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Allocation hosts(const std::string& flag) {
  HostRequest request;
  request.hosts = flag;
  return find_hosts(request, {}, read_host_file);
}

Allocation slurm(const std::string& tasks) {
  return find_hosts(
      {},
      {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "h[1-3]"}, {"SLURM_TASKS_PER_NODE", tasks}},
      read_host_file);
}

// "a 0+2 [0,1] b 2+1 [0]: -n 3", a host with its first rank, its workers and their slots.
std::string placed(const Allocation& allocation, const WorkerRequest& request) {
  const Placement placement = place_workers(allocation, request);
  std::string text;
  std::uint32_t next = 0;
  for (const HostPlacement& host : placement.hosts) {
    EXPECT_EQ(host.first_rank, next);
    EXPECT_EQ(host.slots.size(), host.local_world);
    next += host.local_world;
    text +=
        fmt::format("{}{} {}+{} [{}]", text.empty() ? "" : " ", allocation.hosts[host.host].name,
                    host.first_rank, host.local_world, fmt::join(host.slots, ","));
  }
  EXPECT_EQ(placement.world, next);
  return text + ": " + placement.reason;
}

std::string refused(const Allocation& allocation, const WorkerRequest& request) {
  return refusal([&] { (void)place_workers(allocation, request); });
}

WorkerRequest total(std::int64_t workers) {
  WorkerRequest request;
  request.total = workers;
  return request;
}

WorkerRequest each(std::int64_t workers) {
  WorkerRequest request;
  request.per_host = workers;
  return request;
}

WorkerRequest with_gpus(WorkerRequest request, GpuUse use, std::vector<std::uint32_t> gpus) {
  request.gpus = use;
  request.host_gpus = std::move(gpus);
  return request;
}

WorkerRequest oversubscribed(WorkerRequest request) {
  request.oversubscription = Oversubscription::kAllowed;
  return request;
}

TEST(Placement, RanksAreContiguousByHostWithUnevenSlots) {
  EXPECT_EQ(placed(hosts("a:3,b:1,c:2"), {}),
            "a 0+3 [0,1,2] b 3+1 [0] c 4+2 [0,1]: the slots of --hosts");
  EXPECT_EQ(placed(slurm("3,1(x2)"), {}),
            "h1 0+3 [0,1,2] h2 3+1 [0] h3 4+1 [0]: the slots of Slurm job 12");
}

TEST(Placement, WithoutSlotsAHostHasOneWorker) {
  EXPECT_EQ(placed(hosts("a,b"), {}), "a 0+1 [0] b 1+1 [0]: one a host");
}

TEST(Placement, ATotalFillsTheSlotsInOrder) {
  EXPECT_EQ(placed(hosts("a:3,b:1,c:2"), total(4)), "a 0+3 [0,1,2] b 3+1 [0]: -n 4");
  EXPECT_EQ(placed(hosts("a:3,b:1,c:2"), total(2)), "a 0+2 [0,1]: -n 2");
}

TEST(Placement, ATotalIsSpreadOverHostsWithoutALimit) {
  EXPECT_EQ(placed(hosts("a,b"), total(5)), "a 0+3 [0,1,2] b 3+2 [0,1]: -n 5");
  EXPECT_EQ(placed(hosts("a:2,b,c"), total(6)), "a 0+2 [0,1] b 2+2 [0,1] c 4+2 [0,1]: -n 6");
  EXPECT_EQ(placed(hosts("a,b,c"), total(2)), "a 0+1 [0] b 1+1 [0]: -n 2");
}

TEST(Placement, MoreThanTheSlotsNeedsOversubscribe) {
  EXPECT_EQ(refused(hosts("a:2,b:1"), total(4)),
            "-n 4: 2 hosts (--hosts) have room for 3: ask for no more, or give --oversubscribe");
  EXPECT_EQ(placed(hosts("a:2,b:1"), oversubscribed(total(6))),
            "a 0+4 [0,1,0,1] b 4+2 [0,0]: -n 6");
  EXPECT_EQ(
      refused(hosts("a:2,b:1"), each(2)),
      "--per-host 2: host 'b' has 1 slot (--hosts): ask for no more, or give --oversubscribe");
  EXPECT_EQ(placed(hosts("a:2,b:1"), oversubscribed(each(2))),
            "a 0+2 [0,1] b 2+2 [0,0]: --per-host 2");
  EXPECT_THAT(refused(slurm("1(x3)"), total(4)),
              HasSubstr("3 hosts (Slurm job 12) have room for 3"));
}

TEST(Placement, AMaximumHoldsEvenOversubscribed) {
  Allocation allocation = hosts("a:1,b:1");
  allocation.hosts[0].max_slots = 2;
  EXPECT_EQ(placed(allocation, oversubscribed(total(6))), "a 0+2 [0,0] b 2+4 [0,0,0,0]: -n 6");
  EXPECT_THAT(refused(allocation, oversubscribed(each(3))),
              StartsWith("--per-host 3: host 'a' has max_slots=2"));
  allocation.hosts[1].max_slots = 1;
  EXPECT_EQ(refused(allocation, oversubscribed(total(4))),
            "-n 4: the max_slots of 2 hosts (--hosts) are 3 in all");
}

TEST(Placement, ATotalAndANumberAHostTogetherTakeTheHostsThatAreNeeded) {
  WorkerRequest request = total(5);
  request.per_host = 2;
  EXPECT_EQ(placed(hosts("a,b,c,d"), request),
            "a 0+2 [0,1] b 2+2 [0,1] c 4+1 [0]: -n 5, --per-host 2");
  EXPECT_EQ(refused(hosts("a,b"), request),
            "-n 5 and --per-host 2 differ: 3 hosts needed, 2 there (--hosts)");
  request.per_host = 6;
  EXPECT_THAT(refused(hosts("a"), request), StartsWith("-n 5 and --per-host 6 differ: fewer"));
}

TEST(Placement, AVisibleGpuIsAWorker) {
  EXPECT_EQ(placed(hosts("a,b"), with_gpus({}, GpuUse::kPerhaps, {2, 1})),
            "a 0+2 [0,1] b 2+1 [0]: one a visible GPU");
  EXPECT_EQ(placed(hosts("a,b"), with_gpus({}, GpuUse::kNone, {2, 1})),
            "a 0+1 [0] b 1+1 [0]: one a host");
  EXPECT_EQ(placed(hosts("a:1,b:2"), with_gpus({}, GpuUse::kUsed, {2, 2})),
            "a 0+1 [0] b 1+2 [0,1]: one a visible GPU");
}

TEST(Placement, GpusAreTheLimitOfAJobOnGpusAndNotOfAProgram) {
  EXPECT_THAT(refused(hosts("a,b"), with_gpus(total(4), GpuUse::kUsed, {2, 1})),
              StartsWith("-n 4: 2 hosts (--hosts) have room for 3"));
  EXPECT_EQ(placed(hosts("a,b"), with_gpus(total(5), GpuUse::kPerhaps, {2, 1})),
            "a 0+3 [0,1,0] b 3+2 [0,0]: -n 5");
}

TEST(Placement, ATaskAHostOfABatchSystemIsNoLimitForItsGpus) {
  EXPECT_EQ(placed(slurm("1(x3)"), with_gpus({}, GpuUse::kPerhaps, {2, 2, 0})),
            "h1 0+2 [0,1] h2 2+2 [0,1] h3 4+1 [0]: one a visible GPU");
  EXPECT_THAT(refused(slurm("1(x3)"), with_gpus(total(6), GpuUse::kPerhaps, {2, 2, 0})),
              HasSubstr("have room for 5"));
}

TEST(Placement, ChosenDevicesAreTheSlots) {
  HostRequest request;
  request.hosts = "a:4,b";
  request.include = "a:3,0@b:1";
  const Allocation some = find_hosts(request, {}, read_host_file);
  EXPECT_EQ(placed(some, {}), "a 0+2 [3,0] b 2+1 [1]: the slots of --hosts");
  EXPECT_THAT(refused(some, total(4)), HasSubstr("have room for 3"));
  EXPECT_EQ(refused(some, with_gpus({}, GpuUse::kUsed, {4, 1})),
            "--include names device 1 of host 'b', which has 1, counted from 0");

  request.include.reset();
  request.exclude = "a:1";
  EXPECT_EQ(placed(find_hosts(request, {}, read_host_file), {}),
            "a 0+3 [0,2,3] b 3+1 [0]: the slots of --hosts");
  request.exclude = "b:1";
  const Allocation but_one = find_hosts(request, {}, read_host_file);
  EXPECT_EQ(placed(but_one, with_gpus({}, GpuUse::kUsed, {2, 3})),
            "a 0+2 [0,1] b 2+2 [0,2]: one a visible GPU");
  EXPECT_THAT(refused(but_one, {}), StartsWith("--exclude names devices of host 'b', of which it"));
  request.exclude = "b:0";
  EXPECT_EQ(refused(find_hosts(request, {}, read_host_file), with_gpus({}, GpuUse::kUsed, {2, 1})),
            "--exclude leaves none of the 1 devices of host 'b': exclude the host");
}

TEST(Placement, NumbersOutOfRangeAreRefused) {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{65'537}}) {
    EXPECT_EQ(refused(hosts("a"), total(number)),
              fmt::format("-n {}: expected 1 to 65536 workers", number));
    EXPECT_EQ(refused(hosts("a"), each(number)),
              fmt::format("--per-host {}: expected 1 to 65536 workers", number));
  }
  EXPECT_EQ(refused(hosts("a,b"), each(65'536)),
            "131072 workers on 2 hosts (--hosts): at most 65536 can be");
  EXPECT_EQ(place_workers(hosts("a,b"), total(65'536)).world, 65'536U);
}

}  // namespace
}  // namespace lockstep::launcher
