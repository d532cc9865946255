// Readers of what RDMA tools print of devices and ports.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/topology/port_lines.h"
#include "topology/natural_order.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::codes_of;
using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Machine read_ports(const std::string& text) {
  return read_recording({"recorded.txt", text}).machine;
}

std::string ca(const std::string& name, const std::string& ports) {
  return fmt::format(
      "CA '{}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tNode GUID: 0x0102030405060708\n{}", name,
      ports);
}

std::string ca_port(int number, const std::string& state, const std::string& physical, int rate,
                    const std::string& layer) {
  return fmt::format(
      "\tPort {}:\n\t\tState: {}\n\t\tPhysical state: {}\n\t\tRate: {}\n\t\tBase lid: 3\n"
      "\t\tLink layer: {}\n",
      number, state, physical, rate, layer);
}

TEST(NaturalOrder, CountsAsPeopleDo) {
  std::vector<std::string> names{"mlx5_10", "mlx5_2", "mlx5_1", "mlx4_3", "mlx5_bond_0",
                                 "mlx5_01", "mlx5_",  "ib10",   "ib9",    "99999999999999999999",
                                 "9",       "mlx5_2x"};
  std::ranges::sort(names, natural_less);
  EXPECT_THAT(names,
              ElementsAre("9", "99999999999999999999", "ib9", "ib10", "mlx4_3", "mlx5_", "mlx5_01",
                          "mlx5_1", "mlx5_2", "mlx5_2x", "mlx5_10", "mlx5_bond_0"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(Ibstat, ReadsEveryPortInNaturalOrder) {
  const Machine machine =
      read_ports(ca("mlx5_10", ca_port(1, "Active", "LinkUp", 400, "InfiniBand")) +
                 ca("mlx5_2", ca_port(1, "Down", "Polling", 40, "Ethernet")) +
                 ca("mlx5_1", ca_port(1, "Down", "Disabled", 10, "InfiniBand")));
  EXPECT_THAT(machine.sources, ElementsAre("ibstat"));
  EXPECT_THAT(lines_of(machine),
              ElementsAre("mlx5_1:1 down Disabled 10 infiniband", "mlx5_2:1 down Polling 40 roce",
                          "mlx5_10:1 active LinkUp 400 infiniband"));
  EXPECT_THAT(machine.findings, IsEmpty());
  EXPECT_EQ(machine.nics[0].board, "MT4129");
  EXPECT_EQ(machine.nics[0].pci.vendor, 0x15b3U);
  EXPECT_EQ(machine.nics[0].pci.device, 4129U);
  EXPECT_EQ(machine.nics[0].guid, "0x0102030405060708");
}

TEST(Ibstat, TwoPortsOfADeviceAreTwoNics) {
  const Machine machine = read_ports("CA 'mlx4_0'\n\tCA type: MT4099\n\tNumber of ports: 2\n" +
                                     ca_port(1, "Active", "LinkUp", 56, "InfiniBand") +
                                     ca_port(2, "Active", "LinkUp", 40, "Ethernet"));
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx4_0:1 active LinkUp 56 infiniband",
                                             "mlx4_0:2 active LinkUp 40 roce"));
  EXPECT_EQ(machine.nics[1].board, "MT4099");
}

TEST(Ibstat, OfOneDeviceAndPortIsRead) {
  const Machine machine = read_ports(
      "CA: 'mlx5_3'\r\nPort 1:\r\nState: Active\r\nPhysical state: LinkUp\r\nRate: 200\r\nLink "
      "layer: InfiniBand\r\n");
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_3:1 active LinkUp 200 infiniband"));
}

TEST(Ibstat, WhatWasReadBeforeItDiedIsKeptAndTheErrorIsReported) {
  const Machine machine = read_ports(
      ca("mlx5_0", ca_port(1, "Active", "LinkUp", 200, "InfiniBand")) +
      "ibpanic: [4711] main: stat of IB device 'mlx5_1' failed: No such file or directory\n");
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_0:1 active LinkUp 200 infiniband"));
  ASSERT_THAT(machine.findings, SizeIs(1));
  EXPECT_EQ(machine.findings[0].severity, Severity::error);
  EXPECT_EQ(machine.findings[0].code, "tool-failed");
  EXPECT_THAT(machine.findings[0].message, HasSubstr("'mlx5_1' failed"));
  EXPECT_EQ(machine.findings[0].where, "recorded.txt:11");
}

TEST(Ibstat, ADeviceCutOffBeforeItsPortsIsNamed) {
  const Machine machine = read_ports(
      ca("mlx5_0", ca_port(1, "Active", "LinkUp", 200, "InfiniBand")) + ca("mlx5_1", ""));
  EXPECT_THAT(lines_of(machine),
              ElementsAre("mlx5_0:1 active LinkUp 200 infiniband", "mlx5_1:0 unknown  0 unknown"));
  ASSERT_THAT(codes_of(machine), ElementsAre("incomplete-recording"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("mlx5_1 has 1 ports"));
}

TEST(Ibstat, ALinkWithoutSubnetManagerIsDownAndSaid) {
  const Machine machine =
      read_ports(ca("mlx5_0", ca_port(1, "Initializing", "LinkUp", 200, "InfiniBand")));
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_0:1 down LinkUp 200 infiniband"));
  EXPECT_THAT(codes_of(machine), ElementsAre("port-not-ready"));
}

TEST(Ibstat, DamagedPortsAreLeftOutAndSaid) {
  const Machine machine = read_ports(
      "CA 'mlx5_0'\n\tPort 99999999999:\n\t\tState: Active\n\tPort 1:\n\t\tState: "
      "Active\n\t\tRate: "
      "4e99\n\t\tPhysical state: Link\x01\xffUp\n\tPort 1:\n\t\tState: Down\nCA ''\nCA 'a b'\n");
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_0:1 active Link??Up 0 unknown"));
  EXPECT_THAT(codes_of(machine), ElementsAre("damaged-recording", "stated-twice"));
}

TEST(Ibstat, NamesMorePortsThanAnyHostHas) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += fmt::format("CA 'mlx5_{}'\n\tPort 1:\n\t\tState: Active\n", i);
  const Machine machine = read_ports(text);
  EXPECT_THAT(machine.nics, SizeIs(4096));
  EXPECT_THAT(codes_of(machine), ElementsAre("damaged-recording"));
}

TEST(Ibstatus, ReadsEveryPort) {
  const Machine machine = read_ports(
      "Infiniband device 'mlx5_11' port 1 status:\n\tdefault gid:\t fe80::1\n\tstate:\t\t 4: "
      "ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t "
      "InfiniBand\n\n"
      "Infiniband device 'mlx5_9' port 2 status:\n\tstate:\t\t 1: DOWN\n\tphys state:\t 3: "
      "Disabled\n\trate:\t\t 40 Gb/sec (4X QDR)\n\tlink_layer:\t Ethernet\n"
      "Infiniband device 'mlx5_9' port 1 status:\n\tstate:\t\t 2: INIT\n\tphys state:\t 2: "
      "Polling\n");
  EXPECT_THAT(lines_of(machine),
              ElementsAre("mlx5_9:1 down Polling 0 unknown", "mlx5_9:2 down Disabled 40 roce",
                          "mlx5_11:1 active LinkUp 400 infiniband"));
  EXPECT_THAT(codes_of(machine), ElementsAre("port-not-ready"));
}

TEST(IbvDevinfo, ReadsTheShortForm) {
  const Machine machine = read_ports(
      "hca_id:\tmlx5_4\n\ttransport:\t\t\tInfiniBand (0)\n\tnode_guid:\t\t\t0102:0304:0506:0708\n"
      "\tvendor_id:\t\t\t0x02c9\n\tvendor_part_id:\t\t\t4129\n\tboard_id:\t\t\tMT_0000000838\n"
      "\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
      "\t\t\tlink_layer:\t\tEthernet\n\n");
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_4:1 active  0 roce"));
  EXPECT_EQ(machine.nics[0].board, "MT_0000000838");
  EXPECT_EQ(machine.nics[0].pci.vendor, 0x15b3U);
  EXPECT_EQ(machine.nics[0].pci.device, 4129U);
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(IbvDevinfo, ReadsRateStatesAndGidsOfTheLongForm) {
  const Machine machine = read_ports(
      "Last login: Mon\nroot@node1:~# ibv_devinfo "
      "-v\nhca_id:\tmlx5_0\n\tphys_port_cnt:\t\t\t2\n\tDevice ports:\n\t\tport:\t1\n"
      "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tlink_layer:\t\tEthernet\n"
      "\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t100.0 Gbps (128)\n"
      "\t\t\tphys_state:\t\tLINK_UP (5)\n\t\t\tGID[  0]:\t\tfe80::9, RoCE v1\n"
      "\t\t\tGID[  3]:\t\t::ffff:10.1.2.3, RoCE v2\n\t\t\tGID[  4]:\t\tnonsense, RoCE v2\n"
      "\t\tport:\t2\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tactive_speed:\t\t25.0 Gbps (32)\n"
      "\t\t\tphys_state:\t\tLINK_ERROR_RECOVERY (6)\n");
  EXPECT_THAT(lines_of(machine), ElementsAre("mlx5_0:1 active LinkUp 400 roce",
                                             "mlx5_0:2 down LinkErrorRecovery 0 unknown"));
  ASSERT_THAT(machine.nics[0].gids, SizeIs(2));
  EXPECT_EQ(machine.nics[0].gids[1].index, 3);
  EXPECT_EQ(machine.nics[0].gids[1].address, "0000:0000:0000:0000:0000:ffff:0a01:0203");
  EXPECT_EQ(machine.nics[0].gids[1].type, "RoCE v2");
  EXPECT_THAT(codes_of(machine), ElementsAre("damaged-recording"));
}

TEST(IbvDevinfo, KnowsElasticFabricAndIwarpAdapters) {
  const Machine machine = read_ports(
      "hca_id:\trdmap0s6\n\ttransport:\t\t\tunspecified (4)\n\tvendor_id:\t\t\t0x1d0f\n"
      "\tvendor_part_id:\t\t\t61345\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
      "\t\t\tlink_layer:\t\tUnspecified\n"
      "hca_id:\tirdma0\n\ttransport:\t\t\tiWARP (1)\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE "
      "(4)\n\t\t\tlink_layer:\t\tEthernet\n");
  EXPECT_THAT(lines_of(machine),
              ElementsAre("irdma0:1 active  0 other", "rdmap0s6:1 active  0 efa"));
}

TEST(IbvDevinfo, SaysThatThereIsNoDevice) {
  const Machine machine = read_ports("No IB devices found\n");
  EXPECT_THAT(machine.nics, IsEmpty());
  EXPECT_THAT(codes_of(machine), ElementsAre("no-rdma-device"));
}

TEST(RdmaLink, ReadsOldAndNewLines) {
  const Machine machine = read_ports(
      "link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens2f0np0 \n"
      "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state INIT "
      "physical_state LINK_UP \n"
      "3/2: mlx5_2/2: state DOWN physical_state DISABLED netdev rail2 netdev_index 7 \n");
  EXPECT_THAT(lines_of(machine),
              ElementsAre("mlx5_0:1 down LinkUp 0 infiniband", "mlx5_1:1 active LinkUp 0 roce",
                          "mlx5_2:2 down Disabled 0 unknown"));
  EXPECT_EQ(machine.nics[1].netdev, "ens2f0np0");
  EXPECT_EQ(machine.nics[2].netdev, "rail2");
  EXPECT_THAT(codes_of(machine), ElementsAre("port-not-ready"));
}

TEST(RdmaLink, ReadsJson) {
  const Machine machine = read_ports(
      R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP",)"
      R"("netdev":"ens3","netdev_index":2},{"ifname":"mlx5_1","port":1,"sm_lid":1,"state":"DOWN",)"
      R"("physical_state":"POLLING"},{"ifname":7},{"ifname":"a b","port":1},5])");
  EXPECT_THAT(lines_of(machine),
              ElementsAre("mlx5_0:1 active LinkUp 0 roce", "mlx5_1:1 down Polling 0 infiniband"));
}

TEST(RdmaLink, JsonThatIsCutIsRefused) {
  EXPECT_THROW((void)read_ports(R"([{"ifname":"mlx5_0","port":1,"physical_state":"LINK)"),
               ReadError);
}

}  // namespace
}  // namespace lockstep::topology
