// Acceptance tests 1, 2, 3, 9 and 13: whose traffic goes through which adapter, and which GPUs
// belong together.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/topology/acceptance/recorded_host.h"
#include "topology/advice/hosts.h"
#include "topology/placement.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::value_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kTwelve{"smi-topo/hgx-8gpu-12nic-single-numa-roce.txt",
                                       "ib/hgx-12nic.ibdev2netdev.txt",
                                       "net/hgx-12nic.ip-br-addr.txt"};

std::vector<std::string> left_out(const HostAdvice& advice) {
  std::vector<std::string> all;
  for (const LeftOut& one : advice.left_out)
    all.push_back(fmt::format("{}: {}", one.nic_device, one.reason));
  return all;
}

TEST(Acceptance, T01_TheRailsOfATwelveAdapterNodeAreListedExactly) {
  RECORDED_OR_SKIP(host, kTwelve);
  EXPECT_EQ(value_of(host->advice, "NCCL_IB_HCA"),
            "=mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11");
  EXPECT_THAT(
      test::rails_of(host->advice),
      ElementsAre("GPU0 mlx5_0 PIX", "GPU1 mlx5_1 PIX", "GPU2 mlx5_2 PIX", "GPU3 mlx5_5 PIX",
                  "GPU4 mlx5_6 PIX", "GPU5 mlx5_7 PIX", "GPU6 mlx5_8 PIX", "GPU7 mlx5_11 PIX"));
  EXPECT_THAT(left_out(host->advice),
              ElementsAre("mlx5_3: carries the bond bond0: a front-end network, not a rail",
                          "mlx5_4: the port is down",
                          "mlx5_9: carries the bond bond0: a front-end network, not a rail",
                          "mlx5_10: the port is down"));
  EXPECT_EQ(value_of(host->advice, "NCCL_SOCKET_IFNAME"), "=bond0");
  EXPECT_THAT(test::alarms_of(host->machine), IsEmpty());
}

TEST(Acceptance, T01_TheUnprefixedListOfItsOperatorsIsWarnedOf) {
  RECORDED_OR_SKIP(plain, kTwelve);
  Machine machine = plain->machine;
  machine.findings.clear();
  machine.system.settings = {{.variable = "NCCL_IB_HCA",
                              .value = "mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11",
                              .origin = "/etc/nccl.conf"}};
  const auto host = test::host_of(machine);
  ASSERT_FALSE(host.advice.findings.empty());
  EXPECT_THAT(host.advice.findings.front().message, HasSubstr("mlx5_1"));
  EXPECT_THAT(host.advice.findings.front().message, HasSubstr("mlx5_10"));
  EXPECT_THAT(host.advice.findings.front().message, HasSubstr("mlx5_11"));
  EXPECT_THAT(host.advice.findings.front().remedy, HasSubstr("NCCL_IB_HCA==mlx5_0,"));
}

TEST(Acceptance, T01_OneListForAllHostsIsRefusedWhereASisterNeedsAnother) {
  RECORDED_OR_SKIP(host, kTwelve);
  RECORDED_OR_SKIP(sister, {"ib/ibstat.47.0.h100.some.down.0.txt"});
  const std::vector<HostAdvice> both{host->advice, sister->advice};
  EXPECT_THROW((void)for_all_hosts(both), std::invalid_argument);
  std::vector<std::string> variables;
  for (const Disagreement& one : disagreements(both)) variables.push_back(one.variable);
  EXPECT_THAT(variables, Contains("NCCL_IB_HCA"));
}

TEST(Acceptance, T02_RailsFollowThePathsAndNotTheNumbers) {
  // GPU i hangs beside the adapter kNear[i]: two sockets whose adapters count from the far end.
  constexpr std::array kNear{3, 2, 1, 0};
  std::string matrix = "\t";
  for (int i = 0; i < 4; ++i) matrix += fmt::format("GPU{}\t", i);
  for (int i = 0; i < 4; ++i) matrix += fmt::format("mlx5_{}\t", i);
  matrix += "CPU Affinity\n";
  for (std::size_t row = 0; row < 8; ++row) {
    matrix += row < 4 ? fmt::format("GPU{}", row) : fmt::format("mlx5_{}", row - 4);
    for (std::size_t column = 0; column < 8; ++column) {
      std::string cell = row / 2 % 2 == column / 2 % 2 ? "NODE" : "SYS";
      if (row < 4 && column < 4) cell = "NV18";
      const std::size_t low = std::min(row, column), high = std::max(row, column);
      if (low < 4 && high >= 4) {
        const bool near = static_cast<std::size_t>(kNear[low]) == high - 4;
        cell = near ? "PIX" : "SYS";
      }
      matrix += "\t" + (row == column ? std::string(" X ") : cell);
    }
    matrix += row < 2 ? "\t0-15\n" : row < 4 ? "\t16-31\n" : "\n";
  }
  const auto host = test::host_of(read_recording({"matrix.txt", matrix}).machine);
  EXPECT_THAT(test::rails_of(host.advice), ElementsAre("GPU0 mlx5_3 PIX", "GPU1 mlx5_2 PIX",
                                                       "GPU2 mlx5_1 PIX", "GPU3 mlx5_0 PIX"));
  EXPECT_THAT(host.advice.settings, IsEmpty());
  // A job of two of them uses their adapters.
  AdviceOptions two;
  two.gpus = {0, 1};
  const auto job = test::host_of(read_recording({"matrix.txt", matrix}).machine, two);
  EXPECT_EQ(value_of(job.advice, "NCCL_IB_HCA"), "=mlx5_2,mlx5_3");
}

TEST(Acceptance, T03_PortsThatAreDownOrEthernetAreLeftOutWithTheirReasons) {
  RECORDED_OR_SKIP(host, {"ib/ibstat.47.0.h100.some.down.0.txt"});
  EXPECT_EQ(value_of(host->advice, "NCCL_IB_HCA"),
            "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11");
  EXPECT_THAT(left_out(host->advice), ElementsAre("mlx5_1: 100G Ethernet among InfiniBand rails",
                                                  "mlx5_2: the port is down (Disabled)",
                                                  "mlx5_7: the port is down (Disabled)",
                                                  "mlx5_8: the port is down (Disabled)"));
}

TEST(Acceptance, T03_ARecordingThatDiedKeepsItsErrorToTheEnd) {
  RECORDED_OR_SKIP(host, {"ib/ibstat.39.0.a100.failed.ibpanic.exit-255.0.txt"});
  EXPECT_EQ(host->machine.nics.size(), 8U);
  EXPECT_THAT(test::findings_of(host->machine, "tool-failed"),
              ElementsAre(HasSubstr("stat of IB device 'mlx5_8' failed")));
}

TEST(Acceptance, T09_TheRealMatrixGivesItsBridgedPairs) {
  RECORDED_OR_SKIP(host, {"smi-topo/a100-pcie-8gpu-interleaved-pairs.txt"});
  const auto chosen = [&](int count) {
    std::vector<int> gpus;
    for (const DeviceId id : best_gpus(host->paths, 8, count)) gpus.push_back(id.index);
    return gpus;
  };
  EXPECT_THAT(chosen(2), ElementsAre(0, 2));
  EXPECT_THAT(chosen(4), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(test::alarms_of(host->machine), IsEmpty());
}

TEST(Acceptance, T13_AContainersJobUsesTheTwoAdaptersOfItsGpus) {
  RECORDED_OR_SKIP(host, {"smi-topo/container-2gpu-8nic-no-affinity.txt"});
  EXPECT_THAT(test::rails_of(host->advice), ElementsAre("GPU0 NIC6 PXB", "GPU1 NIC7 PXB"));
  EXPECT_THAT(test::unset_reason(host->advice, "NCCL_IB_HCA"),
              HasSubstr("this job should use NIC6, NIC7"));
  EXPECT_EQ(host->advice.left_out.size(), 6U);
  EXPECT_THAT(host->machine.numa, IsEmpty());
  EXPECT_THAT(test::alarms_of(host->machine), IsEmpty());
}

TEST(Acceptance, T13_WhichOfThreeAdaptersIsTheRailIsNotGuessed) {
  RECORDED_OR_SKIP(host, {"smi-topo/h100-dell-12nic-topo-mp.txt"});
  EXPECT_THAT(test::unset_reason(host->advice, "NCCL_IB_HCA"),
              HasSubstr("mlx5_0, mlx5_1, mlx5_2 are equally near GPU0"));
  EXPECT_THAT(test::findings_of(host->machine, "nvlink-not-shown"),
              ElementsAre(HasSubstr("unknown, not absent")));
  EXPECT_THAT(test::alarms_of(host->machine), IsEmpty());
}

TEST(Acceptance, T13_ARecordingWithoutGpusInventsNone) {
  for (const char* name : {"ib/ibv_devinfo-cx7-dell-2hca.txt", "ib/hgx-12nic.ibdev2netdev.txt"}) {
    RECORDED_OR_SKIP(host, {name});
    EXPECT_THAT(host->advice.rails, IsEmpty()) << name;
    for (const Unset& one : host->advice.unset) EXPECT_THAT(one.reason, Not(HasSubstr("GPU0")));
  }
}

}  // namespace
}  // namespace lockstep::topology
