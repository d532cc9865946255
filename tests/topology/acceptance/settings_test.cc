// Acceptance tests 4 and 16: which GID, and which settings are refused, kept or left to a provider.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/acceptance/recorded_host.h"
#include "topology/advice/writers.h"

namespace lockstep::topology {
namespace {

using test::value_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Acceptance, T04_ADuplicateAddressIsWarnedOfAndAnswered) {
  RECORDED_OR_SKIP(host, {"ib/vxlan-bond-same-ip.show_gids.txt"});
  EXPECT_EQ(value_of(host->advice, "NCCL_IB_GID_INDEX"), "5");
  EXPECT_THAT(test::findings_of(host->machine, "duplicate-roce-address"),
              ElementsAre(AllOf(HasSubstr("GIDs 3 (b3.vxlan.30100) and 5 (bond1)"))));
  EXPECT_THAT(write_env(host->advice), HasSubstr("export NCCL_IB_GID_INDEX=5\n"));
}

TEST(Acceptance, T04_AnIndexThatNcclFindsByItselfIsNotSet) {
  for (const char* name : {"ib/roce-4gid.ibv_devinfo.txt", "ib/roce-3hca.show_gids.txt",
                           "ib/shared-docker.show_gids.txt", "ib/ibv_devinfo-cx7-dell-2hca.txt"}) {
    RECORDED_OR_SKIP(host, {name});
    EXPECT_EQ(value_of(host->advice, "NCCL_IB_GID_INDEX"), "") << name;
  }
  // NCCL before 2.21 takes index 0.
  AdviceOptions old;
  old.nccl = "2.20.5";
  RECORDED_OR_SKIP(host, {"ib/roce-4gid.ibv_devinfo.txt"}, old);
  EXPECT_EQ(value_of(host->advice, "NCCL_IB_GID_INDEX"), "3");
}

TEST(Acceptance, T04_RailsInOneSubnetAreNamed) {
  RECORDED_OR_SKIP(host, {"ib/roce-3hca.show_gids.txt"});
  EXPECT_THAT(
      test::findings_of(host->machine, "shared-subnet"),
      ElementsAre(AllOf(HasSubstr("NIC0 (mlx5_0) and NIC1 (mlx5_1)"), HasSubstr("one subnet"))));
}

TEST(Acceptance, T16_TheEnvironmentWriterRefusesWhatWouldDoHarm) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> refused{
      {{"NCCL_IB_RETRY_CNT", "10"}},
      {{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}},
      {{"NCCL_NET_GDR_LEVEL", "5"}},
      {{"NCCL_P2P_LEVEL", "2"}},
      {{"NCCL_SOCKET_IFNAME", "^docker"}},
      {{"NCCL_IB_GID_INDEX", "3"}},
      {{"NCCL_ALGO", "Ring,Star"}},
  };
  for (const auto& settings : refused) {
    HostAdvice advice;
    advice.nccl = "2.28";
    for (const auto& [variable, value] : settings)
      advice.settings.push_back({.variable = variable, .value = value, .reason = "asked for"});
    EXPECT_THROW((void)write_env(advice), std::invalid_argument) << settings.front().first;
  }
}

TEST(Acceptance, T16_TheProfileOfGoogleIsLeftAlone) {
  RECORDED_OR_SKIP(host, {"settings/gcp-a3mega-tcpxo.env"});
  EXPECT_THAT(host->advice.findings, IsEmpty());
  bool left = false;
  for (const Advice& one : host->advice.settings) {
    EXPECT_TRUE(one.kept) << one.variable;
    EXPECT_NE(one.standing, Standing::harmful) << one.variable << ": " << one.reason;
    left = left || (one.variable == "NCCL_CROSS_NIC" && one.standing == Standing::provider);
  }
  EXPECT_TRUE(left);
}

TEST(Acceptance, T16_ThePluginOfAwsIsLeftAlone) {
  RECORDED_OR_SKIP(plain, {"nccl-xml/aws-p4d.24xlarge-topo.xml", "settings/aws-p5.env"});
  Machine machine = plain->machine;
  machine.findings.clear();
  machine.system.product = "Amazon EC2 p5.48xlarge";
  const auto host = test::host_of(machine);
  EXPECT_THAT(host.advice.findings, IsEmpty());
  ASSERT_EQ(host.advice.settings.size(), 5U);
  for (const Advice& one : host.advice.settings) {
    EXPECT_TRUE(one.kept);
    EXPECT_EQ(one.standing, Standing::provider) << one.variable << ": " << one.reason;
    EXPECT_EQ(one.origin, "settings/aws-p5.env");
  }
}

}  // namespace
}  // namespace lockstep::topology
