// NCCL's topology dump in a log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/smi_readings.h"
#include "topology/readers/formats.h"
#include "topology/readers/nccl_log.h"

namespace lockstep::topology {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kTree[] = {
    "=== System : maxBw 24.0 totalBw 240.0 ===",
    "CPU/1 (1/2/-1)",
    "+ SYS[10.0] - CPU/0",
    "+ PCI[24.0] - PCI/C1000 (1000c01010000000)",
    "              + PCI[12.0] - GPU/C3000 (0)",
    "                            + NVL[240.0] - NVS/0",
    "              + PCI[24.0] - NIC/C5000",
    "                            + NET[25.0] - NET/1 (7a852d0003f6ceb8/1/25.000000)",
    "                            + NET[12.5] - NET/2 (7a852d0003f6ceb9/2/12.500000)",
    "CPU/0 (1/2/-1)",
    "+ SYS[10.0] - CPU/1",
    "+ PCI[24.0] - GPU/10021010 (1)",
    "              + NVL[240.0] - NVS/0",
    "==========================================",
    "GPU/C3000 :GPU/C3000 (0/5000.000000/LOC) CPU/1 (1/24.000000/PHB)",
};

std::string with_prefix(const std::string& prefix) {
  std::string text;
  for (const std::string& line : kTree) text += prefix + line + "\n";
  return text;
}

Machine read_log(const std::string& text) {
  return read_recording({"nccl.log", text}).machine;
}

const Link* link_from(const Machine& machine, DeviceId from, LinkKind kind) {
  for (const Link& link : machine.links) {
    if (link.from == from && link.kind == kind) return &link;
  }
  return nullptr;
}

void expect_tree(const Machine& machine) {
  ASSERT_EQ(machine.gpus.size(), 2U);
  ASSERT_EQ(machine.nics.size(), 2U);
  ASSERT_EQ(machine.switches.size(), 1U);
  ASSERT_EQ(machine.nvswitches.size(), 1U);
  ASSERT_EQ(machine.numa.size(), 2U);
  EXPECT_EQ(machine.cpu.architecture, "x86_64");
  EXPECT_EQ(machine.cpu.vendor, "AuthenticAMD");
  EXPECT_EQ(machine.gpus[0].pci.address, (PciAddress{0, 0xc3, 0, 0}));
  EXPECT_EQ(machine.gpus[1].pci.address, (PciAddress{0x100, 0x21, 1, 0}));
  EXPECT_EQ(machine.gpus[0].numa, 1);
  EXPECT_EQ(machine.switches[0].pci.vendor, 0x1000U);
  EXPECT_EQ(machine.switches[0].pci.device, 0xc010U);
  EXPECT_EQ(machine.switches[0].pci.subsystem_vendor, 0x1000U);
  EXPECT_EQ(machine.nics[0].pci.address, machine.nics[1].pci.address);
  EXPECT_EQ(machine.nics[0].guid, "7a852d0003f6ceb8");
  EXPECT_EQ(machine.nics[0].rate_Gbps, 200.0);
  EXPECT_EQ(machine.nics[1].port, 2);

  const DeviceId bridge{DeviceKind::pcie_switch, 0};
  const DeviceId fabric{DeviceKind::nvswitch, 0};
  const Link* const up = link_from(machine, gpu(0), LinkKind::pcie);
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(*up, (Link{gpu(0), bridge, LinkKind::pcie, 1, 12.0}));
  EXPECT_EQ(link_from(machine, nic(1), LinkKind::pcie)->to, bridge);
  EXPECT_EQ(link_from(machine, bridge, LinkKind::pcie)->to, (DeviceId{DeviceKind::numa, 1}));
  EXPECT_EQ(link_from(machine, gpu(1), LinkKind::pcie)->to, (DeviceId{DeviceKind::numa, 0}));
  EXPECT_EQ(*link_from(machine, gpu(1), LinkKind::nvlink),
            (Link{gpu(1), fabric, LinkKind::nvlink, 12, 240.0}));
  // Four of PCIe (one a NIC), two of NVLink, one between the sockets though both say it.
  EXPECT_EQ(machine.links.size(), 8U);
}

TEST(NcclLog, TheTreeIsReadWithEveryPrefixAndWithout) {
  for (const char* prefix : {"", "NCCL INFO ", "node7:101855:101885 [0] NCCL INFO ",
                             "[2025-03-01 10:00:00] node7:1:2 [0] NCCL INFO ",
                             "[1,0]<stdout>:node7:1:2 [0] NCCL INFO "}) {
    const Machine machine = read_log(with_prefix(prefix));
    expect_tree(machine);
    EXPECT_THAT(machine.findings, IsEmpty()) << prefix;
    EXPECT_EQ(machine.name, std::string(prefix).find("node7") == std::string::npos ? "" : "node7");
  }
}

TEST(NcclLog, RanksThatWriteAtTheSameTimeAreKeptApart) {
  std::string text;
  for (const std::string& line : kTree) {
    text += "node7:11:21 [0] NCCL INFO " + line + "\n";
    text += "node7:12:22 [1] NCCL INFO " + line + "\r\n";
    text += "step 5 loss 2.31\n";
  }
  expect_tree(read_log(text));
}

TEST(NcclLog, OtherHostsOfTheLogAreSaid) {
  const Machine machine = read_log(with_prefix("node7:11:21 [0] NCCL INFO ") +
                                   with_prefix("node8:11:21 [0] NCCL INFO "));
  expect_tree(machine);
  EXPECT_EQ(machine.name, "node7");
  EXPECT_THAT(messages(machine.findings, "other-hosts"), HasSubstr("2 hosts"));
}

TEST(NcclLog, NamesOfNetDevicesAndTheVersionAreTakenFromItsOtherLines) {
  const Machine machine = read_log(
      "node7:11:21 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
      "node7:11:21 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_4:1/IB "
      "[2]mlx5_4:2/IB [RO]; OOB eth0:10.0.0.1<0>\n" +
      with_prefix("node7:11:21 [0] NCCL INFO "));
  expect_tree(machine);
  EXPECT_EQ(machine.nics[0].name, "mlx5_4");
  EXPECT_EQ(machine.nics[0].kind, NicKind::infiniband);
  EXPECT_EQ(machine.system.nccl, "2.21.5");
}

TEST(NcclLog, GpusThatSeeEachOtherAreLinkedOnceAndHostsOfADomainAreNotMixed) {
  const Machine machine = read_log(
      "=== System : maxBw 80.0 totalBw 240.0 ===\n"
      "CPU/0-0 (3/1/-1)\n"
      "+ C2C[360.0] - GPU/0-81000\n"
      "+ PCI[24.0] - GPU/0-81000 (0)\n"
      "              + NVL[80.2] - GPU/0-91000\n"
      "              + NVL[80.2] - GPU/1-81000\n"
      "              + C2C[360.0] - CPU/0-0\n"
      "+ PCI[24.0] - GPU/0-91000 (1)\n"
      "              + NVL[80.2] - GPU/0-81000\n"
      "CPU/1-0 (3/1/-1)\n"
      "+ PCI[24.0] - GPU/1-81000 (2)\n"
      "==========================================\n");
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(*link_from(machine, gpu(0), LinkKind::nvlink),
            (Link{gpu(0), gpu(1), LinkKind::nvlink, 2, 80.2}));
  EXPECT_EQ(machine.links.size(), 4U);  // PCIe twice, NVLink, C2C
  EXPECT_EQ(machine.cpu.architecture, "arm64");
  EXPECT_THAT(codes(machine.findings), Contains("other-hosts"));
}

TEST(NcclLog, AVirtualNicAndAnUnknownNodeAreNotGivenAddresses) {
  const Machine machine = read_log(
      "=== System : maxBw 0.3 totalBw 12.0 ===\n"
      "CPU/FFFFFFFFFFFFFFFF (1/1/1)\n"
      "+ PCI[5000.0] - NIC/0\n"
      "                + NET[0.3] - NET/0 (0/1/0.312500)\n"
      "+ PCI[12.0] - GPU/80 (0)\n"
      "==========================================\n");
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].pci.address, std::nullopt);
  EXPECT_EQ(machine.gpus.at(0).pci.address, (PciAddress{0, 0, 8, 0}));
  EXPECT_EQ(machine.gpus[0].numa, std::nullopt);
  EXPECT_EQ(machine.numa.at(0).id, -1);
}

TEST(NcclLog, WhatIsCutOffIsSaidAndLinesWithoutAParentAreNotHungElsewhere) {
  const Machine machine = read_log(
      "+ PCI[24.0] - GPU/81000 (0)\n"
      "CPU/1 (1/1/2)\n+ PCI[24.0] - PCI/82000 (10b5879610b58796)\n"
      "       + PCI[24.0] - GPU/84000 (4)\n");
  ASSERT_EQ(machine.gpus.size(), 1U) << "a line in no column of the tree is not read";
  EXPECT_EQ(machine.links.size(), 1U);
  EXPECT_THAT(codes(machine.findings), Contains("nccl-line-misplaced"));
  EXPECT_THAT(messages(machine.findings, "nccl-log-cut"), HasSubstr("beginning and the end"));
}

TEST(NcclLog, ADeviceThatStandsTwiceIsReadOnce) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "CPU/0 (1/1/2)\n+ PCI[24.0] - GPU/84000 (4)\n";
  const Machine machine = read_log(text);
  EXPECT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.links.size(), 1U);
  EXPECT_THAT(codes(machine.findings), Contains("device-twice"));
}

TEST(NcclLog, ALogWithoutADumpIsRefusedWithWhatToSet) {
  try {
    (void)read_nccl_log({"nccl.log", "=== System : maxBw 1 totalBw 1 ===\n"});
    FAIL();
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL_DEBUG_SUBSYS"));
  }
  EXPECT_FALSE(is_nccl_log("GPU/81000 :GPU/81000 (0/5000.000000/LOC)\n"));
}

TEST(NcclLog, DamagedLinesNeitherCrashNorHang) {
  const std::string whole = with_prefix("node7:1:2 [0] NCCL INFO ");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string text = whole;
    text[i] = static_cast<char>(text[i] ^ (1 << (i % 8)));
    const Machine machine = read_nccl_log({"flipped.log", text}).machine;
    EXPECT_LE(machine.gpus.size(), 3U) << i;
  }
}

}  // namespace
}  // namespace lockstep::topology
