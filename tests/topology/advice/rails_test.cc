// Which ports a job uses, and which GPU's they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "tests/topology/advice/hosts_to_advise.h"
#include "topology/advice/name_list.h"
#include "topology/advice/rails.h"
#include "topology/natural_order.h"

namespace lockstep::topology::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> rails_of_advice(const HostAdvice& advice) {
  std::vector<std::string> rails;
  for (const GpuRail& rail : advice.rails) {
    rails.push_back("GPU" + std::to_string(rail.gpu) + " " + rail.nic_device);
  }
  return rails;
}

std::string reason_left_out(const HostAdvice& advice, std::string_view device) {
  for (const LeftOut& left : advice.left_out) {
    if (left.nic_device == device) return left.reason;
  }
  return {};
}

TEST(Rails, AreReadFromPathsAndNeverFromNumbers) {
  EXPECT_THAT(rails_of_advice(advise_host(bonded_front_end())),
              ElementsAre("GPU0 mlx5_0", "GPU1 mlx5_1", "GPU2 mlx5_2", "GPU3 mlx5_5", "GPU4 mlx5_6",
                          "GPU5 mlx5_7", "GPU6 mlx5_8", "GPU7 mlx5_11"));
  // The same adapters, the GPUs in another order.
  Host turned = small_roce();
  turned.paths =
      PathTable({{{DeviceKind::gpu, 0}, {DeviceKind::nic, 1}, PathKind::PXB, "PXB", {}},
                 {{DeviceKind::gpu, 1}, {DeviceKind::nic, 0}, PathKind::PXB, "PXB", {}},
                 {{DeviceKind::gpu, 0}, {DeviceKind::nic, 0}, PathKind::SYS, "SYS", {}},
                 {{DeviceKind::gpu, 1}, {DeviceKind::nic, 1}, PathKind::SYS, "SYS", {}}});
  EXPECT_THAT(rails_of_advice(advise_host(turned)), ElementsAre("GPU0 mlx5_1", "GPU1 mlx5_0"));
}

TEST(Rails, GpusThatShareTheirNearestNicsAreSpreadOverThem) {
  EXPECT_THAT(rails_of_advice(advise_host(container_of_two_gpus())),
              ElementsAre("GPU0 mlx5_6", "GPU1 mlx5_7"));
  AdviceOptions one_gpu;
  one_gpu.gpus = {1};
  EXPECT_THAT(rails_of_advice(advise_host(container_of_two_gpus(), one_gpu)),
              ElementsAre("GPU1 mlx5_6", "GPU1 mlx5_7"));
}

TEST(Rails, OfAHiddenPciTreeAreUnknown) {
  const auto advice = advise_host(flat_virtual_machine());
  EXPECT_THAT(advice.rails, IsEmpty());
  EXPECT_TRUE(has_finding(advice, "affinity-unknown"));
}

TEST(Rails, OfGraceAreNotCalledBroken) {
  const auto advice = advise_host(grace_tray());
  EXPECT_THAT(advice.rails, IsEmpty());
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_EQ(advice.findings[0].severity, Severity::info);
  EXPECT_THAT(advice.findings[0].message, HasSubstr("normal on Grace"));
  EXPECT_THAT(reason_unset(advice, "NCCL_NET_GDR_LEVEL"), IsEmpty());
}

TEST(Rails, OfGraceAreNotInventedFromAMatrix) {
  Host host = grace_tray();
  std::vector<Path> paths = host.paths.all();
  for (Path& path : paths) {
    if (path.from.kind == DeviceKind::gpu) path.kind = PathKind::P2C;
  }
  host.paths = PathTable(paths);
  EXPECT_THAT(advise_host(host).rails, IsEmpty());
}

TEST(NicThroughGpu, IsSaidOfAMatrixWhereOtherGpusAreNearTheAdapter) {
  Host host = small_roce();
  host.machine.links.clear();
  host.machine.nics.resize(1);
  host.machine.gpus.resize(3);
  const auto paths_with = [](const char* label, PathKind kind) {
    const auto gpu = [](int i) { return DeviceId{DeviceKind::gpu, i}; };
    const DeviceId nic{DeviceKind::nic, 0};
    return PathTable({{gpu(0), gpu(1), kind, label, {}},
                      {gpu(0), gpu(2), PathKind::SYS, "SYS", {}},
                      {gpu(1), gpu(2), PathKind::SYS, "SYS", {}},
                      {gpu(0), nic, PathKind::PIX, "PIX", {}},
                      {gpu(1), nic, PathKind::SYS, "SYS", {}},
                      {gpu(2), nic, PathKind::SYS, "SYS", {}}});
  };
  host.paths = paths_with("NV2", PathKind::NVL);
  const auto advice = advise_host(host);
  ASSERT_TRUE(has_finding(advice, "nic-through-gpu"));
  EXPECT_EQ(advice.findings.front().message,
            "only GPU0 is near an adapter; NCCL leads others there by NVLink (PXN): GPU1 through "
            "GPU0 (NV2); GPU2 has no NVLink to a GPU near an adapter and must go over the CPU");
  host.paths = paths_with("NODE", PathKind::PHB);
  EXPECT_FALSE(has_finding(advise_host(host), "nic-through-gpu"));
}

TEST(Nics, EachPortThatIsLeftOutHasItsReason) {
  const auto advice = advise_host(bonded_front_end());
  ASSERT_EQ(advice.left_out.size(), 4U);
  EXPECT_THAT(reason_left_out(advice, "mlx5_3"), HasSubstr("bond0"));
  EXPECT_THAT(reason_left_out(advice, "mlx5_9"), HasSubstr("bond0"));
  EXPECT_EQ(reason_left_out(advice, "mlx5_4"), "the port is down");
  EXPECT_EQ(reason_left_out(advice, "mlx5_10"), "the port is down");
}

TEST(Nics, ABondIsCalledWhatItIs) {
  Host host = hgx_h100_host();
  EXPECT_EQ(reason_left_out(advise_host(host), "mlx5_bond_0"),
            "carries the bond bond0: a front-end network, not a rail");
  host.machine.nics[8].netdev.clear();
  EXPECT_EQ(reason_left_out(advise_host(host), "mlx5_bond_0"),
            "mlx5_bond_0 is itself a bond: a front-end network, not a rail");
}

TEST(Nics, OfUnknownDistanceAreNotSaidToBeFar) {
  Host host = hgx_h100_host();
  host.machine.nics.push_back(host.machine.nics[0]);
  host.machine.nics.back().name = "mlx5_9";
  EXPECT_EQ(reason_left_out(advise_host(host), "mlx5_9"),
            "at no known distance, and each GPU has a near port");
}

TEST(Nics, OfGpusThatAreNotInTheContainerAreLeftOut) {
  const auto advice = advise_host(container_of_two_gpus());
  EXPECT_EQ(advice.left_out.size(), 6U);
  EXPECT_THAT(reason_left_out(advice, "mlx5_0"), HasSubstr("GPUs that are not here"));
}

TEST(Nics, OfGpusTheJobDoesNotUseAreLeftOut) {
  AdviceOptions options;
  options.gpus = {4, 5, 6, 7};
  const auto advice = advise_host(hgx_h100_host(), options);
  EXPECT_THAT(rails_of_advice(advice),
              ElementsAre("GPU4 mlx5_4", "GPU5 mlx5_5", "GPU6 mlx5_6", "GPU7 mlx5_7"));
  EXPECT_THAT(reason_left_out(advice, "mlx5_0"), HasSubstr("GPU0, which this job does not use"));
}

TEST(Nics, EthernetAmongInfiniBandIsLeftOut) {
  Host host{{}, PathTable({})};
  host.machine.gpus.resize(1);
  const auto add = [&](std::string name, NicKind kind, NicState state, double rate) {
    Nic nic;
    nic.name = std::move(name);
    nic.kind = kind;
    nic.state = state;
    nic.rate_Gbps = rate;
    host.machine.nics.push_back(nic);
  };
  add("mlx5_0", NicKind::infiniband, NicState::active, 400);
  add("mlx5_1", NicKind::roce, NicState::active, 100);
  add("mlx5_10", NicKind::infiniband, NicState::active, 400);
  add("mlx5_2", NicKind::roce, NicState::down, 40);
  add("mlx5_9", NicKind::infiniband, NicState::active, 400);
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_HCA")->value, "=mlx5_0,mlx5_9,mlx5_10");
  EXPECT_EQ(reason_left_out(advice, "mlx5_1"), "100G Ethernet among InfiniBand rails");
}

TEST(Nics, StoragePortsFarFromEveryGpuOrSlowAreLeftOut) {
  Host far = small_roce();
  far.machine.nics.push_back(far.machine.nics[0]);
  far.machine.nics.back().name = "mlx5_2";
  auto paths = far.paths.all();
  for (int g = 0; g < 2; ++g) {
    paths.push_back({{DeviceKind::gpu, g}, {DeviceKind::nic, 2}, PathKind::SYS, "SYS", {}});
  }
  far.paths = PathTable(paths);
  EXPECT_THAT(reason_left_out(advise_host(far), "mlx5_2"),
              HasSubstr("SYS from GPU0 and near no GPU here: a storage"));

  Host slow = small_roce();
  slow.machine.nics[1].rate_Gbps = 100;
  EXPECT_EQ(reason_left_out(advise_host(slow), "mlx5_1"),
            "100 Gb/s beside rails of 200 Gb/s: a storage or front-end port");
}

TEST(Nics, BondsAreUsedWhereTheyAreTheRails) {
  Host host = small_roce();
  host.machine.nics[0].name = "mlx5_bond_0";
  host.machine.nics[1].name = "mlx5_bond_1";
  const auto advice = advise_host(host);
  EXPECT_THAT(rails_of_advice(advice), ElementsAre("GPU0 mlx5_bond_0", "GPU1 mlx5_bond_1"));
  EXPECT_THAT(advice.left_out, IsEmpty());
}

TEST(Nics, ABondThatIsAGpusOnlyNearPortIsUsed) {
  Host host = bonded_front_end();
  std::swap(host.machine.nics[0].netdev, host.machine.nics[3].netdev);
  const auto advice = advise_host(host);
  EXPECT_EQ(reason_left_out(advice, "mlx5_0"), "");
  EXPECT_THAT(reason_left_out(advice, "mlx5_9"), HasSubstr("bond0"));
}

TEST(Advise, RefusesAGpuOrAVersionThatIsNone) {
  AdviceOptions gpu;
  gpu.gpus = {8};
  EXPECT_THROW((void)advise_host(hgx_h100_host(), gpu), std::invalid_argument);
  AdviceOptions version;
  version.nccl = "new";
  EXPECT_THROW((void)advise_host(hgx_h100_host(), version), std::invalid_argument);
}

TEST(NameList, MatchesAsNcclDoes) {
  EXPECT_TRUE(admits(parse_name_list("mlx5_1"), "mlx5_10"));
  EXPECT_FALSE(admits(parse_name_list("=mlx5_1"), "mlx5_10"));
  EXPECT_FALSE(admits(parse_name_list("^docker"), "docker0"));
  EXPECT_TRUE(admits(parse_name_list("^docker"), "lo"));
  EXPECT_TRUE(admits(parse_name_list("^=docker"), "docker0"));
  EXPECT_TRUE(admits(parse_name_list("=mlx5_0:2"), "mlx5_0", 2));
  EXPECT_FALSE(admits(parse_name_list("=mlx5_0:2"), "mlx5_0", 1));
  EXPECT_TRUE(admits(parse_name_list(""), "anything"));
}

TEST(NameList, OrdersAsPeopleCount) {
  EXPECT_TRUE(natural_less("mlx5_2", "mlx5_10"));
  EXPECT_FALSE(natural_less("mlx5_10", "mlx5_2"));
  EXPECT_TRUE(natural_less("mlx5_9", "mlx5_bond_0"));
  EXPECT_FALSE(natural_less("mlx5_1", "mlx5_1"));
  EXPECT_TRUE(natural_less("a", "a1"));
}

}  // namespace
}  // namespace lockstep::topology::test
