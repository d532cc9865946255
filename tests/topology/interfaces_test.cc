// Network interfaces: what `ip -br` and ibdev2netdev print, and what names suggest.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/interface_kind.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Machine read_interfaces(const std::string& text) {
  return read_recording({"recorded.txt", text}).machine;
}

// "enp1s0 up 10.0.0.1/24".
std::vector<std::string> interface_lines(const Machine& machine) {
  std::vector<std::string> lines;
  for (const Interface& interface : machine.interfaces) {
    std::string line = fmt::format("{} {}", interface.name,
                                   interface.up ? (*interface.up ? "up" : "down") : "unknown");
    for (const std::string& address : interface.addresses) line += " " + address;
    lines.push_back(line);
  }
  return lines;
}

// "mlx5_0:1 enp1s0 active".
std::vector<std::string> ports_of(const Machine& machine) {
  std::vector<std::string> lines;
  for (const Nic& nic : machine.nics) {
    lines.push_back(fmt::format("{}:{} {} {} {}", nic.name, nic.port.value_or(0), nic.netdev,
                                to_string(nic.state), to_string(nic.kind)));
  }
  return lines;
}

TEST(InterfaceKind, FollowsTheConventionsOfNames) {
  using enum InterfaceKind;
  const std::vector<std::pair<InterfaceKind, std::vector<const char*>>> names{
      {loopback, {"lo", "dummy0", "kube-ipvs0", "nodelocaldns"}},
      {bridge,
       {"docker0", "docker_gwbridge", "br-0123456789ab", "br0", "cni0", "cni-podman0", "virbr0",
        "vmbr1", "lxcbr0", "lxdbr0", "kube-bridge", "podman1"}},
      {bond, {"bond0", "bond1", "bond-mgmt", "team0"}},
      {vlan, {"bond0.100", "bond0.100@bond0", "enp1s0f0.7@enp1s0f0", "vlan100", "vlan100@eth0"}},
      {vxlan,
       {"flannel.1", "flannel-v6.1", "vxlan.calico", "cilium_vxlan", "b3.vxlan.30100", "vxlan100",
        "genev_sys_6081"}},
      {veth,
       {"veth12ab", "vethc0ffee@if2", "cali0123456789a@if4", "lxc_health@if9", "lxc12ab",
        "cilium_host@cilium_net", "eni0123456789a@if3", "azv0123456789a", "gke0123abc"}},
      {tunnel,
       {"tun0", "tap0", "tapc0ffee", "wg0", "wg-mesh", "tailscale0", "tunl0@NONE", "ztabc", "vnet3",
        "sit0@NONE", "ppp0"}},
      {infiniband, {"ib0", "ib10", "ibp1s0", "ibs8f1", "ib0.8001", "ib0.8001@ib0", "ibP2s3"}},
      {physical,
       {"eth0", "eno1", "eno12399np0", "ens3", "ens3np0", "enp25s0np0", "enp0s20f0u5u2c2",
        "enP2p1s0", "enx0123456789ab", "em1", "p1p2", "wlp3s0"}},
      {unknown, {"", "eth0@if7", "net1@if12", "rail0", "mgmt", "ib", "eth", "enormous", "@", ".1"}},
  };
  for (const auto& [kind, all] : names) {
    for (const char* name : all)
      EXPECT_EQ(static_cast<int>(kind_of_interface_name(name)), static_cast<int>(kind)) << name;
  }
}

TEST(IpBrief, ReadsAddresses) {
  const Machine machine = read_interfaces(
      "root@node1:~# ip -br a\n"
      "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n"
      "enp1s0           UP             10.0.2.15/24 metric 100 fe80::1/64 \r\n"
      "enp2s0           DOWN           \n"
      "eth0@if5         UP             10.244.1.7/24 \n"
      "bond0.100@bond0  LOWERLAYERDOWN 10.9.0.1/16 \n"
      "tun0             UNKNOWN        10.8.0.1 peer 10.8.0.2/32 \n");
  EXPECT_THAT(machine.sources, ElementsAre("ip-brief"));
  EXPECT_THAT(
      interface_lines(machine),
      ElementsAre("lo up 127.0.0.1/8 ::1/128", "enp1s0 up 10.0.2.15/24 fe80::1/64", "enp2s0 down",
                  "eth0 up 10.244.1.7/24", "bond0.100 down 10.9.0.1/16", "tun0 up 10.8.0.1"));
  EXPECT_EQ(machine.interfaces[3].kind, InterfaceKind::unknown);
  EXPECT_EQ(machine.interfaces[4].kind, InterfaceKind::vlan);
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(IpBrief, OfLinksTheFlagsSayMoreThanTheName) {
  const Machine machine = read_interfaces(
      "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> \n"
      "front            UP             0c:42:a1:00:00:01 <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> "
      "\n"
      "eth2             UP             0c:42:a1:00:00:02 <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> \n"
      "rail0            DOWN           00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:00:00:04 "
      "<NO-CARRIER,BROADCAST,MULTICAST,UP> \n"
      "tunl0@NONE       DOWN           0.0.0.0 <NOARP> \n");
  EXPECT_THAT(interface_lines(machine),
              ElementsAre("lo up", "front up", "eth2 up", "rail0 down", "tunl0 down"));
  std::vector<InterfaceKind> kinds;
  for (const Interface& interface : machine.interfaces) kinds.push_back(interface.kind);
  EXPECT_THAT(kinds,
              ElementsAre(InterfaceKind::loopback, InterfaceKind::bond, InterfaceKind::physical,
                          InterfaceKind::infiniband, InterfaceKind::tunnel));
}

TEST(IpBrief, ColoursOfATerminalAreNoPartOfIt) {
  const Machine machine =
      read_interfaces("\x1b[36meth0   \x1b[0m\x1b[32mUP \x1b[0m \x1b[35m10.0.0.1\x1b[0m/8\n");
  EXPECT_THAT(interface_lines(machine), ElementsAre("eth0 up 10.0.0.1/8"));
}

TEST(IpBrief, LinesThatAreDamagedAreSaid) {
  const Machine machine =
      read_interfaces("lo UNKNOWN 127.0.0.1/8\neth0 UP 10.0.0.1/8\neth1 \xff\xff 10.0.0.2/8\n");
  EXPECT_THAT(interface_lines(machine), ElementsAre("lo up 127.0.0.1/8", "eth0 up 10.0.0.1/8"));
  ASSERT_THAT(machine.findings, SizeIs(1));
  EXPECT_EQ(machine.findings[0].where, "recorded.txt:3");
}

TEST(IpBrief, IsNotSeenInOtherTexts) {
  for (const char* text : {"", "\n", "milk, bread\n", "the lift is\nUP again\nand again\n",
                           "eth0 UP\nnot\nof\nthis kind\n"}) {
    EXPECT_THROW((void)read_interfaces(text), ReadError) << text;
  }
}

TEST(Ibdev2netdev, ReadsTheInterfaceOfEveryPort) {
  const Machine machine = read_interfaces(
      "mlx5_10 port 1 ==> enp210s0f1np1 (Down)\nmlx5_2 port 1 ==> bond0 (Up)\nmlx5_3 port 1 ==> "
      "bond0 (Up)\nmlx5_4 port 2 ==> ib4 (Down)\nmlx5_5 port 1 ==> ib5 (Up)\nmlx5_6 port 1 ==> "
      "rail6 (Up)\n");
  EXPECT_THAT(ports_of(machine),
              ElementsAre("mlx5_2:1 bond0 active roce", "mlx5_3:1 bond0 active roce",
                          "mlx5_4:2 ib4 unknown infiniband", "mlx5_5:1 ib5 active infiniband",
                          "mlx5_6:1 rail6 active unknown", "mlx5_10:1 enp210s0f1np1 down roce"));
  EXPECT_THAT(interface_lines(machine),
              ElementsAre("enp210s0f1np1 down", "bond0 up", "ib4 down", "ib5 up", "rail6 up"));
  EXPECT_EQ(machine.interfaces[1].kind, InterfaceKind::bond);
}

TEST(Ibdev2netdev, ReadsAddressBoardAndPortOfTheLongForm) {
  const Machine machine = read_interfaces(
      "0000:19:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 400GbE / NDR IB, port of a card "
      "fw 28.39.1002 port 1 (ACTIVE) ==> ib0 (Down)\n"
      "0000:2a:00.0 mlx5_1 (MT4129 - X) ConnectX-7 fw 28.39.1002 port 1 (DOWN  ) ==> ens5np0 "
      "(Down)\n");
  EXPECT_THAT(ports_of(machine),
              ElementsAre("mlx5_0:1 ib0 active infiniband", "mlx5_1:1 ens5np0 down roce"));
  EXPECT_EQ(machine.nics[0].pci.address, parse_pci_address("0000:19:00.0"));
  EXPECT_EQ(machine.nics[0].board, "MT4129");
  EXPECT_EQ(machine.nics[0].pci.device, 4129U);
}

TEST(Ibdev2netdev, RowsThatAreCutAreSaid) {
  const Machine machine = read_interfaces(
      "mlx5_0 port 1 ==> ens1 (Up)\nmlx5_1 port ==> ens2 (Up)\nmlx5_2 port 1 ==>\n==>\n");
  EXPECT_THAT(ports_of(machine),
              ElementsAre("mlx5_0:1 ens1 active roce", "mlx5_2:1  unknown unknown"));
  EXPECT_THAT(machine.findings, SizeIs(2));
}

TEST(Corpus, InterfacesOfTheTwelveAdapterNodeAreRead) {
  const auto addresses = test::corpus("net/hgx-12nic.ip-br-addr.txt");
  const auto netdevs = test::corpus("ib/hgx-12nic.ibdev2netdev.txt");
  if (!addresses || !netdevs) GTEST_SKIP() << "SKIPPED: the recordings are absent";

  const Machine interfaces = read_recording(*addresses).machine;
  EXPECT_THAT(interfaces.interfaces, SizeIs(17));
  EXPECT_THAT(interfaces.findings, IsEmpty());
  int rails = 0;
  for (const Interface& interface : interfaces.interfaces) {
    for (const std::string& address : interface.addresses)
      rails += address.ends_with("/31") ? 1 : 0;
  }
  EXPECT_EQ(rails, 8);
  EXPECT_THAT(interfaces.interfaces.back().addresses, ElementsAre("10.1.175.137/29"));
  EXPECT_EQ(interfaces.interfaces.back().kind, InterfaceKind::bond);

  EXPECT_THAT(
      ports_of(read_recording(*netdevs).machine),
      ElementsAre("mlx5_0:1 enp25s0np0 active roce", "mlx5_1:1 enp41s0np0 active roce",
                  "mlx5_2:1 enp59s0np0 active roce", "mlx5_3:1 bond0 active roce",
                  "mlx5_4:1 enp83s0f1np1 down roce", "mlx5_5:1 enp92s0np0 active roce",
                  "mlx5_6:1 enp155s0np0 active roce", "mlx5_7:1 enp170s0np0 active roce",
                  "mlx5_8:1 enp187s0np0 active roce", "mlx5_9:1 bond0 active roce",
                  "mlx5_10:1 enp210s0f1np1 down roce", "mlx5_11:1 enp218s0np0 active roce"));
}

}  // namespace
}  // namespace lockstep::topology
