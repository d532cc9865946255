// Adapters and their interfaces, out of several recordings of one host.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "tests/topology/merge_parts.h"
#include "topology/merge.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::find_interface;
using test::gpu_id;
using test::interface;
using test::messages_of;
using test::nic;
using test::nic_id;
using test::of_source;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(MergeInterfaces, AnAdapterAndItsInterfaceCompleteEachOther) {
  Machine ports = of_source("ports");
  ports.nics = {nic("mlx5_0"), nic("mlx5_1"), nic("mlx5_2")};
  ports.nics[0].netdev = "ens1";
  ports.nics[1].netdev = "ib1";
  ports.nics[2].pci.address = parse_pci_address("0000:2a:00.0");
  Machine addresses = of_source("addresses");
  addresses.interfaces = {interface("ens1", InterfaceKind::physical),
                          interface("ib1", InterfaceKind::infiniband),
                          interface("rail2", InterfaceKind::unknown)};
  addresses.interfaces[0].up = false;
  addresses.interfaces[0].rate_Gbps = 100;
  addresses.interfaces[0].pci = parse_pci_address("0000:19:00.0");
  addresses.interfaces[1].up = false;
  addresses.interfaces[2].pci = parse_pci_address("0000:2a:00.0");

  const Machine merged = merge({ports, addresses});
  EXPECT_EQ(merged.nics[0].state, NicState::down);
  EXPECT_EQ(merged.nics[0].rate_Gbps, 100);
  EXPECT_EQ(merged.nics[0].pci.address, parse_pci_address("0000:19:00.0"));
  EXPECT_EQ(merged.nics[1].kind, NicKind::infiniband);
  EXPECT_EQ(merged.nics[1].state, NicState::unknown)
      << "an IP interface may be down on a good port";
  EXPECT_EQ(merged.nics[2].netdev, "rail2");
}

TEST(MergeInterfaces, ABondAndItsMemberAreBothRight) {
  Machine rdma = of_source("ibdev2netdev");
  rdma.nics = {nic("mlx5_3", 1)};
  rdma.nics[0].netdev = "front";
  Machine links = of_source("ip-brief");
  links.interfaces = {interface("front", InterfaceKind::bond),
                      interface("ens3", InterfaceKind::physical)};
  Machine sysfs = of_source("sysfs");
  sysfs.nics = {nic("mlx5_3", 1)};
  sysfs.nics[0].netdev = "ens3";

  for (const Machine& merged : {merge({rdma, links, sysfs}), merge({sysfs, rdma, links})}) {
    ASSERT_THAT(merged.nics, SizeIs(1));
    EXPECT_EQ(merged.nics[0].netdev, "front");
    ASSERT_NE(find_interface(merged, "ens3"), nullptr);
    EXPECT_EQ(find_interface(merged, "ens3")->master, "front");
    EXPECT_EQ(find_interface(merged, "front")->kind, InterfaceKind::bond);
    EXPECT_THAT(merged.findings, IsEmpty());
  }
}

TEST(MergeInterfaces, ABondThatOnlyAnAdapterNamesIsMarked) {
  Machine rdma = of_source("rdma-link");
  rdma.nics = {nic("mlx5_bond_0", 1)};
  rdma.nics[0].netdev = "bond1";
  const Machine merged = merge({rdma});
  ASSERT_NE(find_interface(merged, "bond1"), nullptr);
  EXPECT_EQ(find_interface(merged, "bond1")->kind, InterfaceKind::bond);
}

TEST(MergeInterfaces, WhatTheSystemStatesWinsOverAName) {
  Machine names = of_source("names");
  names.interfaces = {interface("eth7", InterfaceKind::physical)};
  Machine flags = of_source("flags");
  flags.interfaces = {interface("eth7", InterfaceKind::bond)};
  flags.interfaces[0].addresses = {"10.0.0.1/8"};
  const Machine merged = merge({names, flags});
  ASSERT_THAT(merged.interfaces, SizeIs(1));
  EXPECT_EQ(merged.interfaces[0].kind, InterfaceKind::bond);
  EXPECT_THAT(merged.interfaces[0].addresses, ElementsAre("10.0.0.1/8"));
}

TEST(MergeInterfaces, AnInterfaceUpInOneRecordingAndDownInAnotherIsSaid) {
  Machine a = of_source("a");
  a.interfaces = {interface("eth0", InterfaceKind::physical)};
  a.interfaces[0].up = true;
  Machine b = a;
  b.sources = {"b"};
  b.interfaces[0].up = false;
  EXPECT_THAT(messages_of(merge({a, b})),
              ElementsAre("whether it is up of eth0: yes by a, but no by b"));
}

// The matrix of the twelve-adapter node: GPU i is next to one adapter, out of order.
Machine matrix_of_twelve() {
  constexpr std::array kRails{0, 1, 2, 5, 6, 7, 8, 11};
  Machine machine = of_source("nvidia-smi-topo");
  machine.gpus.resize(8);
  for (int i = 0; i < 12; ++i) machine.nics.push_back(nic(fmt::format("mlx5_{}", i)));
  for (int g = 0; g < 8; ++g) {
    for (int n = 0; n < 12; ++n) {
      const bool near = kRails[static_cast<std::size_t>(g)] == n;
      machine.stated.push_back({gpu_id(g), nic_id(n), near ? "PIX" : "NODE"});
    }
  }
  return machine;
}

TEST(Acceptance, T01_ThreeRecordingsOfANodeAreOneMachine) {
  const auto netdevs = test::corpus("ib/hgx-12nic.ibdev2netdev.txt");
  const auto addresses = test::corpus("net/hgx-12nic.ip-br-addr.txt");
  if (!netdevs || !addresses) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  std::vector<Machine> parts{matrix_of_twelve(), read_recording(*netdevs).machine,
                             read_recording(*addresses).machine};
  std::ranges::sort(parts, {}, &Machine::sources);
  do {
    const Machine merged = merge(parts);
    SCOPED_TRACE(testing::PrintToString(merged.sources));
    EXPECT_THAT(messages_of(merged), IsEmpty());
    ASSERT_THAT(merged.nics, SizeIs(12));
    std::vector<std::string> usable;
    for (const Nic& nic : merged.nics) {
      const Interface* netdev = find_interface(merged, nic.netdev);
      ASSERT_NE(netdev, nullptr) << nic.name;
      if (nic.state == NicState::active && netdev->kind != InterfaceKind::bond)
        usable.push_back(nic.name);
    }
    EXPECT_THAT(usable, ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_5", "mlx5_6", "mlx5_7",
                                    "mlx5_8", "mlx5_11"));
    EXPECT_THAT(find_interface(merged, merged.nics[5].netdev)->addresses,
                ElementsAre("10.0.94.59/31"));
    EXPECT_THAT(merged.stated, Contains(StatedPath{gpu_id(3), nic_id(5), "PIX"}));
  } while (std::ranges::next_permutation(parts, {}, &Machine::sources).found);
}

}  // namespace
}  // namespace lockstep::topology
