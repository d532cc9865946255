// The rules about the network between hosts, each with the case in which it is silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/advice/hosts_to_advise.h"
#include "tests/topology/machines.h"
#include "topology/paths.h"

namespace lockstep::topology::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Interface interface(std::string name, std::vector<std::string> addresses,
                    InterfaceKind kind = InterfaceKind::unknown) {
  Interface made;
  made.name = std::move(name);
  made.kind = kind;
  made.up = true;
  made.addresses = std::move(addresses);
  return made;
}

TEST(IbHca, IsTheExactListWithoutBondsAndDownPorts) {
  const auto advice = advise_host(bonded_front_end());
  const Advice* hca = find(advice, "NCCL_IB_HCA");
  ASSERT_NE(hca, nullptr);
  EXPECT_EQ(hca->value, "=mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11");
  EXPECT_EQ(hca->confidence, Confidence::high);
  EXPECT_THAT(hca->evidence,
              Contains("written with '=': without it mlx5_1 also matches mlx5_10 and mlx5_11"));
}

TEST(IbHca, IsNotSetWhereNcclTakesTheRightPortsByItself) {
  EXPECT_EQ(find(advise_host(small_roce()), "NCCL_IB_HCA"), nullptr);
  // A port that is down is left out by NCCL too.
  Host host = small_roce();
  host.machine.nics[1].state = NicState::down;
  EXPECT_EQ(find(advise_host(host), "NCCL_IB_HCA"), nullptr);
}

TEST(IbHca, IsNotSetForAJobOfOneHost) {
  AdviceOptions options;
  options.hosts = 1;
  EXPECT_THAT(newly_set(advise_host(bonded_front_end(), options)), IsEmpty());
}

TEST(IbHca, OfPortsOfUnknownStateIsLessCertain) {
  const auto advice = advise_host(container_of_two_gpus());
  ASSERT_NE(find(advice, "NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_HCA")->value, "=mlx5_6,mlx5_7");
  EXPECT_EQ(find(advice, "NCCL_IB_HCA")->confidence, Confidence::medium);
}

TEST(IbHca, IsNotInventedForDevicesWithoutNames) {
  Host host = container_of_two_gpus();
  for (std::size_t i = 0; i < 8; ++i) host.machine.nics[i].name = "NIC" + std::to_string(i);
  const auto advice = advise_host(host);
  EXPECT_EQ(find(advice, "NCCL_IB_HCA"), nullptr);
  EXPECT_THAT(reason_unset(advice, "NCCL_IB_HCA"), HasSubstr("NIC6, NIC7"));
}

TEST(IbHca, IsNotDecidedWhereSeveralCardsShareASwitchAndNoRateTellsThemApart) {
  Host host = small_roce();
  host.machine.nics.push_back(host.machine.nics[0]);
  host.machine.nics.back().name = "mlx5_2";
  auto paths = host.paths.all();
  paths.push_back({{DeviceKind::gpu, 0}, {DeviceKind::nic, 2}, PathKind::PIX, "PIX", {}});
  paths.push_back({{DeviceKind::gpu, 1}, {DeviceKind::nic, 2}, PathKind::SYS, "SYS", {}});
  host.paths = PathTable(paths);
  EXPECT_THAT(reason_unset(advise_host(host), "NCCL_IB_HCA"), IsEmpty());
  for (Nic& nic : host.machine.nics) nic.rate_Gbps.reset();
  EXPECT_THAT(reason_unset(advise_host(host), "NCCL_IB_HCA"),
              HasSubstr("mlx5_0, mlx5_2 are equally near GPU0"));
}

TEST(IbHca, NamesThePortWhereTheDeviceHasAnother) {
  Host host = small_roce();
  Nic second = host.machine.nics[1];
  second.port = 2;
  second.rate_Gbps = 10;
  host.machine.nics.push_back(second);
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_HCA")->value, "=mlx5_0,mlx5_1:1");
}

TEST(IbHca, KeepsThePortThatIsNotTheFirst) {
  Host host = small_roce();
  host.machine.nics[1].port = 2;
  Nic slow = host.machine.nics[0];
  slow.name = "mlx5_9";
  slow.rate_Gbps = 10;
  host.machine.nics.push_back(slow);
  EXPECT_EQ(find(advise_host(host), "NCCL_IB_HCA")->value, "=mlx5_0,mlx5_1:2");
  Nic first = host.machine.nics[1];
  first.port = 1;
  host.machine.nics.push_back(first);
  auto paths = host.paths.all();
  paths.push_back({{DeviceKind::gpu, 1}, {DeviceKind::nic, 3}, PathKind::PIX, "PIX", {}});
  host.paths = PathTable(paths);
  EXPECT_EQ(find(advise_host(host), "NCCL_IB_HCA")->value, "=mlx5_0,mlx5_1")
      << "the name alone means both ports";
}

TEST(SocketIfname, IsTheNetworkOfHostsAndNotARailOfTwoAddresses) {
  const auto advice = advise_host(bonded_front_end());
  const Advice* name = find(advice, "NCCL_SOCKET_IFNAME");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(name->value, "=bond0");
  EXPECT_EQ(name->confidence, Confidence::medium);
  EXPECT_THAT(name->evidence, Contains("NCCL's own choice: enp20s0 (10.0.91.9/31)"));
}

TEST(SocketIfname, IsNeverAnInterfaceOfContainersOrTheLoopback) {
  Host host = workstation_host();
  auto& all = host.machine.interfaces;
  all.insert(all.begin(),
             {interface("lo", {"127.0.0.1/8"}, InterfaceKind::loopback),
              interface("cni0", {"10.244.0.1/24"}), interface("docker0", {"172.17.0.1/16"})});
  all.push_back(interface("veth12ab", {"169.254.1.1/16"}, InterfaceKind::veth));
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_SOCKET_IFNAME"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_SOCKET_IFNAME")->value, "=eno1");
  EXPECT_EQ(find(advice, "NCCL_SOCKET_IFNAME")->confidence, Confidence::high);
}

TEST(SocketIfname, IsSetWhereOnlyTheOrderSavesIt) {
  Host host = workstation_host();
  host.machine.interfaces.push_back(interface("flannel.1", {"10.244.1.0/32"}));
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_SOCKET_IFNAME"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_SOCKET_IFNAME")->confidence, Confidence::medium);
  EXPECT_THAT(find(advice, "NCCL_SOCKET_IFNAME")->reason, HasSubstr("flannel.1"));
}

TEST(SocketIfname, IsNotSetForDockerWhichNcclLeavesOutByItself) {
  Host host = workstation_host();
  host.machine.interfaces.push_back(interface("docker0", {"172.17.0.1/16"}));
  host.machine.interfaces.push_back(interface("lo", {"127.0.0.1/8"}, InterfaceKind::loopback));
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(SocketIfname, IsNotSetForAPodsOwnEndOfItsNetwork) {
  Host host = small_roce();
  host.machine.interfaces = {interface("eth0", {"10.244.3.7/24"}, InterfaceKind::veth),
                             interface("net1", {"192.168.0.7/24"}, InterfaceKind::physical)};
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(SocketIfname, IsNotSetForABridgeOverARealPort) {
  Host host = workstation_host();
  host.machine.interfaces[0].addresses = {};
  host.machine.interfaces[0].master = "br0";
  host.machine.interfaces.push_back(interface("br0", {"192.168.1.5/24"}, InterfaceKind::bridge));
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(SocketFamily, IsIpv6WhereTheOnlyIpv4AddressIsLinkLocal) {
  Host host = workstation_host();
  host.machine.interfaces[0].addresses = {"169.254.7.7/16", "2001:db8::7/64"};
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_SOCKET_FAMILY"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_SOCKET_FAMILY")->value, "AF_INET6");
}

TEST(SocketFamily, IsNotSetForTwoFamiliesThatBothWork) {
  Host host = workstation_host();
  host.machine.interfaces[0].addresses = {"192.168.1.5/24", "2001:db8::7/64", "fe80::7/64"};
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(SocketThreads, AreSeveralOnAFastLinkWithoutRdma) {
  Host host = workstation_host();
  host.machine.nics[0].rate_Gbps = 100;
  const auto advice = advise_host(host);
  EXPECT_THAT(newly_set(advice), ElementsAre("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"));
  EXPECT_EQ(find(advice, "NCCL_SOCKET_NTHREADS")->confidence, Confidence::low);
}

TEST(SocketThreads, AreLeftAloneOnSlowLinksWithRdmaAndOnCloudAdapters) {
  EXPECT_THAT(newly_set(advise_host(workstation_host())), IsEmpty());
  Host roce = small_roce();
  roce.machine.nics.push_back(workstation_host().machine.nics[0]);
  roce.machine.nics.back().rate_Gbps = 100;
  EXPECT_EQ(find(advise_host(roce), "NCCL_SOCKET_NTHREADS"), nullptr);
  Host google = workstation_host();
  google.machine.nics[0].rate_Gbps = 100;
  google.machine.nics[0].pci.vendor = 0x1ae0;
  EXPECT_THAT(newly_set(advise_host(google)), IsEmpty());
}

AdviceOptions with_gids(std::vector<GidFacts> gids, std::string nccl = "2.28") {
  AdviceOptions options;
  options.nccl = std::move(nccl);
  options.gids = std::move(gids);
  return options;
}

TEST(IbGidIndex, IsSetWhereTwoGidsAreOfOneAddress) {
  const auto advice = advise_host(
      small_roce(), with_gids({{0, 3, 5, true, "3 is of vxlan"}, {1, 5, 5, false, ""}}));
  ASSERT_NE(find(advice, "NCCL_IB_GID_INDEX"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_GID_INDEX")->value, "5");
  EXPECT_TRUE(has_finding(advice, "duplicate-gid"));
}

TEST(IbGidIndex, IsLeftToNcclWhereNoAddressIsDoubled) {
  const auto advice =
      advise_host(small_roce(), with_gids({{0, 3, 3, false, ""}, {1, 5, 5, false, ""}}));
  EXPECT_THAT(newly_set(advice), IsEmpty());
}

TEST(IbGidIndex, IsSetForNcclThatTakesIndexZero) {
  const auto advice =
      advise_host(small_roce(), with_gids({{0, 3, 3, false, ""}, {1, 3, 3, false, ""}}, "2.20"));
  ASSERT_NE(find(advice, "NCCL_IB_GID_INDEX"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_GID_INDEX")->value, "3");
}

TEST(IbGidIndex, IsNotOneValueForPortsThatNeedDifferentOnes) {
  const auto advice =
      advise_host(small_roce(), with_gids({{0, 3, 3, false, ""}, {1, 5, 5, false, ""}}, "2.20"));
  EXPECT_EQ(find(advice, "NCCL_IB_GID_INDEX"), nullptr);
  EXPECT_THAT(reason_unset(advice, "NCCL_IB_GID_INDEX"), HasSubstr("different indices (3, 5)"));
}

TEST(IbGidIndex, IsNeverSetOnInfiniBand) {
  const auto advice = advise_host(hgx_h100_host(), with_gids({{0, 0, 1, true, ""}}));
  EXPECT_EQ(find(advice, "NCCL_IB_GID_INDEX"), nullptr);
}

TEST(IbAddrFamily, IsIpv6WhereRailsHaveNoIpv4Gid) {
  Host host = small_roce();
  for (Nic& nic : host.machine.nics) {
    nic.gids = {{.index = 0,
                 .address = "fe80:0000:0000:0000:0000:0000:0000:0001",
                 .type = "RoCE v2",
                 .netdev = ""},
                {.index = 1,
                 .address = "2001:0db8:0000:0000:0000:0000:0000:0001",
                 .type = "RoCE v2",
                 .netdev = ""}};
  }
  const auto advice = advise_host(host);
  ASSERT_NE(find(advice, "NCCL_IB_ADDR_FAMILY"), nullptr);
  EXPECT_EQ(find(advice, "NCCL_IB_ADDR_FAMILY")->value, "AF_INET6");

  host.machine.nics[0].gids.push_back({.index = 2,
                                       .address = "0000:0000:0000:0000:0000:ffff:0a00:0001",
                                       .type = "RoCE v2",
                                       .netdev = ""});
  EXPECT_THAT(newly_set(advise_host(host)), IsEmpty());
}

TEST(IbQueuePairs, AreSeveralWhereRailsAreBonds) {
  Host host = small_roce();
  host.machine.nics[0].name = "mlx5_bond_0";
  host.machine.nics[1].name = "mlx5_bond_1";
  const auto advice = advise_host(host);
  EXPECT_THAT(newly_set(advice), ElementsAre("NCCL_IB_QPS_PER_CONNECTION"));
  EXPECT_EQ(find(advice, "NCCL_IB_QPS_PER_CONNECTION")->confidence, Confidence::low);
  EXPECT_EQ(find(advise_host(small_roce()), "NCCL_IB_QPS_PER_CONNECTION"), nullptr);
}

TEST(IbTrafficClass, IsAskedForOnRoceAndNeverInvented) {
  const auto advice = advise_host(small_roce());
  EXPECT_THAT(newly_set(advice), IsEmpty());
  EXPECT_THAT(reason_unset(advice, "NCCL_IB_TC"), HasSubstr("ask who runs them"));
  EXPECT_THAT(reason_unset(advise_host(hgx_h100_host()), "NCCL_IB_TC"), IsEmpty());
}

TEST(IbRelaxedOrdering, IsSetOnAzureOnly) {
  Host host = hgx_h100_host();
  EXPECT_EQ(find(advise_host(host), "NCCL_IB_PCI_RELAXED_ORDERING"), nullptr);
  host.machine.system.product = "Microsoft Corporation Virtual Machine";
  ASSERT_NE(find(advise_host(host), "NCCL_IB_PCI_RELAXED_ORDERING"), nullptr);
  EXPECT_EQ(find(advise_host(host), "NCCL_IB_PCI_RELAXED_ORDERING")->value, "1");
}

TEST(CrossNic, IsOffOnlyWhereRailsAreKnownToBeApart) {
  AdviceOptions options;
  EXPECT_EQ(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC"), nullptr);
  options.rails = RailConnection::isolated;
  ASSERT_NE(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC"), nullptr);
  EXPECT_EQ(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC")->value, "0");
  EXPECT_EQ(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC")->evidence.front(),
            "the fabric's rails have no switch in common");
  options.rails_evidence = "rails.txt: 2 rails";
  EXPECT_EQ(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC")->evidence.front(),
            "rails.txt: 2 rails");
  options.rails = RailConnection::connected;
  EXPECT_EQ(find(advise_host(small_roce(), options), "NCCL_CROSS_NIC"), nullptr);
}

TEST(IbHca, ARailThatIsDownTakesNothingFromTheOthers) {
  Machine machine = hgx_h100();
  // As a matrix has it: no rates, so that only distances tell.
  for (Nic& nic : machine.nics) nic.rate_Gbps.reset();
  // Two GPUs and two adapters under a switch, as in a DGX A100.
  for (Link& link : machine.links) {
    if (link.kind == LinkKind::pcie && link.to.kind == DeviceKind::pcie_switch) {
      link.to.index -= link.to.index % 2;
    }
  }
  machine.nics[3].state = NicState::down;
  const HostAdvice advice = advise(machine, paths_of(machine), {});
  const Advice* list = find(advice, "NCCL_IB_HCA");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->value, "=mlx5_0,mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7");
}

}  // namespace
}  // namespace lockstep::topology::test
