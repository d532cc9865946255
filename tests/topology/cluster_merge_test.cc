// What is said of hosts that differ.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/topology/machines.h"
#include "topology/cluster_merge.h"

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Machine> hosts(int count) {
  Machine machine = test::hgx_h100();
  machine.system.kernel = "6.8.0";
  machine.system.gpu_driver = "570.1";
  machine.system.nccl = "2.28.9";
  std::vector<Machine> all;
  for (int i = 0; i < count; ++i) {
    machine.name = fmt::format("node{:03}", i);
    all.push_back(machine);
  }
  return all;
}

std::vector<std::string> codes(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) all.push_back(finding.code);
  return all;
}

TEST(ClusterMerge, HostsThatAreAlikeHaveNoFindings) {
  const Cluster cluster = merge_hosts(hosts(4));
  EXPECT_THAT(cluster.hosts, SizeIs(4));
  EXPECT_THAT(cluster.findings, IsEmpty());
  EXPECT_THAT(merge_hosts({}).findings, IsEmpty());
}

TEST(ClusterMerge, WhatAHostDoesNotSayDoesNotDiffer) {
  std::vector<Machine> all = hosts(3);
  all[1].system = {};
  for (Nic& nic : all[1].nics) nic.state = NicState::unknown;
  for (Gpu& gpu : all[2].gpus) gpu.name.clear();
  EXPECT_THAT(differences(all), IsEmpty());
}

TEST(ClusterMerge, TheOddHostsAreNamed) {
  std::vector<Machine> all = hosts(1000);
  all[7].system.nccl = all[19].system.nccl = "2.27.3";
  const auto findings = differences(all);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_EQ(findings[0].code, "differing-nccl");
  EXPECT_EQ(findings[0].message,
            "NCCL versions differ: 2.28.9 on 998 hosts; 2.27.3 on 2 hosts (node007, node019)");
  EXPECT_EQ(findings[0].where, "node007, node019");
}

TEST(ClusterMerge, OfTwoHostsBothAreNamed) {
  std::vector<Machine> all = hosts(2);
  all[1].system.gpu_driver = "535.2";
  EXPECT_EQ(differences(all)[0].message,
            "GPU driver versions differ: 570.1 on 1 host (node000); 535.2 on 1 host (node001)");
}

TEST(ClusterMerge, ManyOddHostsAreOneShortLine) {
  std::vector<Machine> all = hosts(1000);
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::size_t>(i);
    all[at].system.kernel = fmt::format("6.8.{}", i);
    if (i % 3 == 0) all[at].gpus.pop_back();
    if (i % 2 == 0) all[at].system.gpu_driver = "535.2";
  }
  const auto findings = differences(all);
  EXPECT_THAT(codes(findings),
              ElementsAre("differing-gpu-count", "differing-gpu-driver", "differing-kernel"));
  for (const Finding& finding : findings)
    EXPECT_LT(finding.message.size(), 400U) << finding.message;
  EXPECT_EQ(findings[0].message,
            "numbers of GPUs differ: 8 GPUs on 666 hosts; 7 GPUs on 334 hosts (node000, node003, "
            "node006, node009, node012, node015, node018, node021 and 326 more)");
}

TEST(ClusterMerge, GpusOfAnotherKindAreNamed) {
  std::vector<Machine> all = hosts(3);
  all[2].gpus[5].name = "NVIDIA H200";
  EXPECT_EQ(differences(all)[0].message,
            "GPUs differ: 8 x NVIDIA H100 80GB HBM3 on 2 hosts; 7 x NVIDIA H100 80GB HBM3 + 1 x "
            "NVIDIA H200 on 1 host (node002)");
}

TEST(ClusterMerge, AnAdapterThatIsMissingIsSaidOnce) {
  std::vector<Machine> all = hosts(3);
  all[1].nics.erase(all[1].nics.begin());
  EXPECT_THAT(codes(differences(all)), ElementsAre("differing-nic-count"));
}

TEST(ClusterMerge, AdaptersOfOtherNamesAreSaidOnce) {
  std::vector<Machine> all = hosts(3);
  all[1].nics[2].name = "ibp65s0";
  const auto findings = differences(all);
  EXPECT_THAT(codes(findings), ElementsAre("differing-nic-names"));
  EXPECT_EQ(findings[0].where, "node001");
}

TEST(ClusterMerge, AnAdapterThatIsDownIsNamedByItsHost) {
  std::vector<Machine> all = hosts(3);
  all[1].nics[2].state = NicState::down;
  const auto findings = differences(all);
  EXPECT_THAT(codes(findings), ElementsAre("differing-usable-nics"));
  EXPECT_EQ(findings[0].message,
            "network adapters that are up differ: mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,"
            "mlx5_7,mlx5_bond_0 on 2 hosts; mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,"
            "mlx5_bond_0 on 1 host (node001)");
}

TEST(ClusterMerge, TheOrderOfAdaptersDoesNotMatterNorDoVirtualFunctions) {
  std::vector<Machine> all = hosts(2);
  std::swap(all[1].nics[0], all[1].nics[5]);
  Nic function = all[1].nics[0];
  function.name = "mlx5_20";
  function.virtual_function = true;
  all[1].nics.push_back(function);
  EXPECT_THAT(differences(all), IsEmpty());
}

TEST(ClusterMerge, TwoHostsOfOneNameAreAnError) {
  std::vector<Machine> all = hosts(20);
  for (const std::size_t i : {4U, 5U, 6U}) all[i].name = "node001";
  const auto findings = differences(all);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].code, "repeated-host-name");
  EXPECT_EQ(findings[0].message, "hosts have the same name: node001 (4 times)");
}

TEST(ClusterMerge, EachHostIsLookedAtOnceForAnAspect) {
  const std::vector<Machine> all = hosts(1000);
  std::vector<int> positions(all.size());
  std::iota(positions.begin(), positions.end(), 0);
  int looked = 0;
  const Aspect names{.code = "names",
                     .what = "names",
                     .severity = Severity::info,
                     .remedy = "",
                     .value = [&looked](const Machine& host) {
                       ++looked;
                       return host.name;
                     }};
  const Comparison result = compare(all, positions, names);
  EXPECT_EQ(looked, 1000);
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->message,
            "names differ: node000 on 1 host (node000); node001 on 1 host (node001); node002 on 1 "
            "host (node002); node003 on 1 host (node003); and 996 other values");
  EXPECT_THAT(result.alike, ElementsAre(0));
}

}  // namespace
}  // namespace lockstep::topology
