// The rules about the machine itself, and machines for which nothing needs to be said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/advice/hosts_to_advise.h"
#include "topology/advice/providers.h"

namespace lockstep::topology::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Advise, SaysNothingOfAPlainHealthyWorkstation) {
  const auto advice = advise_host(workstation_host());
  EXPECT_THAT(advice.settings, IsEmpty());
  EXPECT_THAT(advice.unset, IsEmpty());
  EXPECT_THAT(advice.findings, IsEmpty());
}

TEST(Advise, OnlyLeavesTheFrontEndOutOfAHealthyHgx) {
  const auto advice = advise_host(hgx_h100_host());
  EXPECT_THAT(newly_set(advice), ElementsAre("NCCL_IB_HCA"));
  EXPECT_THAT(advice.findings, IsEmpty());
  Host without_bond = hgx_h100_host();
  without_bond.machine.nics.pop_back();
  EXPECT_THAT(advise_host(without_bond).settings, IsEmpty());
}

TEST(Advise, SaysNothingOfAMachineWithoutDevices) {
  const auto advice = advise(Machine{}, PathTable({}), {});
  EXPECT_THAT(advice.settings, IsEmpty());
  EXPECT_THAT(advice.findings, IsEmpty());
  EXPECT_EQ(advice.nccl, "2.28");
}

TEST(Advise, TakesTheVersionOfTheHostUnlessToldOtherwise) {
  Host host = workstation_host();
  host.machine.system.nccl = "2.21.5";
  EXPECT_EQ(advise_host(host).nccl, "2.21");
  AdviceOptions options;
  options.nccl = "2.30.7";
  EXPECT_EQ(advise_host(host, options).nccl, "2.30");
}

TEST(Advise, SetsNoVariableThatTheHostsNcclDoesNotRead) {
  Host host = small_roce();
  for (Nic& nic : host.machine.nics) {
    nic.gids = {{.index = 1,
                 .address = "2001:0db8:0000:0000:0000:0000:0000:0001",
                 .type = "RoCE v2",
                 .netdev = ""}};
  }
  EXPECT_THAT(newly_set(advise_host(host)), ElementsAre("NCCL_IB_ADDR_FAMILY"));
  AdviceOptions by_version;
  by_version.nccl = "2.20";
  EXPECT_THAT(newly_set(advise_host(host, by_version)), IsEmpty());
  EXPECT_THAT(reason_unset(advise_host(host, by_version), "NCCL_IB_ADDR_FAMILY"),
              HasSubstr("NCCL (2.20) does not read it"));
  AdviceOptions by_library;
  by_library.known_variables = {"NCCL_IB_HCA"};
  EXPECT_THAT(newly_set(advise_host(host, by_library)), IsEmpty());
}

TEST(TopoFile, ReplacesAVirtualSwitchThatClaimsNextToNothing) {
  AdviceOptions options;
  options.topo_file = "/run/vm.xml";
  const auto advice = advise_host(slow_virtual_switch(), options);
  ASSERT_NE(find(advice, "NCCL_TOPO_FILE"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_TOPO_FILE")->value, "/run/vm.xml");
  EXPECT_THAT(find(advice, "NCCL_TOPO_FILE")->evidence,
              ElementsAre("SW0 104c:8232 at 0000:65:00.0: 2.5 GT/s x1 = 0.2 GB/s"));
}

TEST(TopoFile, IsAlsoSeenByTheLinkOfALog) {
  Host host = slow_virtual_switch();
  host.machine.switches[0].pci.link = {};
  EXPECT_EQ(find(advise_host(host), "NCCL_TOPO_FILE"), nullptr);
  host.machine.links.push_back({.from = {DeviceKind::pcie_switch, 0},
                                .to = {DeviceKind::numa, 0},
                                .kind = LinkKind::pcie,
                                .count = 1,
                                .GBps = 0.2});
  EXPECT_NE(find(advise_host(host), "NCCL_TOPO_FILE"), nullptr);
}

TEST(TopoFile, IsNotSetForSwitchesThatAreSlowButRealOrCarryNothing) {
  Host host = slow_virtual_switch();
  host.machine.switches[0].pci.link.max_speed = 5;
  host.machine.switches[0].pci.link.max_width = 16;
  EXPECT_EQ(find(advise_host(host), "NCCL_TOPO_FILE"), nullptr);
  Host bare = slow_virtual_switch();
  bare.machine.links.clear();
  EXPECT_EQ(find(advise_host(bare), "NCCL_TOPO_FILE"), nullptr);
}

TEST(NetGdrLevel, IsExplainedAndNotSetWhereThePciTreeIsHidden) {
  const auto advice = advise_host(flat_virtual_machine());
  EXPECT_THAT(newly_set(advice), IsEmpty());
  EXPECT_THAT(reason_unset(advice, "NCCL_NET_GDR_LEVEL"), HasSubstr("bandwidth test"));
  EXPECT_THAT(reason_unset(advice, "NCCL_TOPO_FILE"), HasSubstr("ask for its topology file"));
  ASSERT_TRUE(has_finding(advice, "affinity-unknown"));
  EXPECT_THAT(advice.findings[0].message, HasSubstr("leaves GPUDirect off"));
  EXPECT_THAT(advise_host(hgx_h100_host()).unset, IsEmpty());
}

TEST(NetGdrC2c, IsOnForGraceWithTheOneNcclThatHasItOff) {
  AdviceOptions options;
  options.nccl = "2.26";
  ASSERT_NE(find(advise_host(grace_tray(), options), "NCCL_NET_GDR_C2C"), nullptr);
  EXPECT_EQ(find(advise_host(grace_tray()), "NCCL_NET_GDR_C2C"), nullptr);
  EXPECT_EQ(find(advise_host(hgx_h100_host(), options), "NCCL_NET_GDR_C2C"), nullptr);
}

TEST(CumemHost, IsOffInContainersForTheVersionsThatDoNotFindOut) {
  Host host = workstation_host();
  host.machine.system.container = true;
  AdviceOptions options;
  options.nccl = "2.25.1";
  EXPECT_THAT(newly_set(advise_host(host, options)), ElementsAre("NCCL_CUMEM_HOST_ENABLE"));
  options.nccl = "2.26.5";
  EXPECT_THAT(newly_set(advise_host(host, options)), IsEmpty());
  options.nccl = "2.25.1";
  host.machine.system.container.reset();
  EXPECT_THAT(newly_set(advise_host(host, options)), IsEmpty());
}

TEST(IgnoreCpuAffinity, IsSetWhereNodesClaimTheSameCpus) {
  Host host = hgx_h100_host();
  host.machine.nics.pop_back();
  host.machine.numa[1].cpus = host.machine.numa[0].cpus;
  EXPECT_THAT(newly_set(advise_host(host)), ElementsAre("NCCL_IGNORE_CPU_AFFINITY"));
  // Nodes of GPU memory have no CPUs at all, which is no claim.
  for (NumaNode& node : host.machine.numa) node.cpus = {};
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(Provider, IsRecognisedByItsProductName) {
  const auto of = [](std::string product) {
    System system;
    system.product = std::move(product);
    return provider_of(system);
  };
  EXPECT_EQ(of("Amazon EC2 p5.48xlarge"), Provider::aws);
  EXPECT_EQ(of("Google Google Compute Engine"), Provider::gcp);
  EXPECT_EQ(of("Microsoft Corporation Virtual Machine"), Provider::azure);
  EXPECT_EQ(of("OracleCloud.com BM.GPU.H100.8"), Provider::oci);
  EXPECT_EQ(of("Dell Inc. PowerEdge XE9680"), Provider::none);
  EXPECT_EQ(of(""), Provider::none);
}

TEST(Provider, ManagesItsOwnVariables) {
  Host host = slow_virtual_switch();
  EXPECT_NE(find(advise_host(host), "NCCL_TOPO_FILE"), nullptr);
  host.machine.system.provider = Provider::aws;
  EXPECT_EQ(find(advise_host(host), "NCCL_TOPO_FILE"), nullptr);
  EXPECT_THAT(reason_unset(advise_host(host), "NCCL_TOPO_FILE"), HasSubstr("left to AWS"));

  Host google = bonded_front_end();
  google.machine.system.provider = Provider::gcp;
  EXPECT_EQ(find(advise_host(google), "NCCL_SOCKET_IFNAME"), nullptr);
}

}  // namespace
}  // namespace lockstep::topology::test
