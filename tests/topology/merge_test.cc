// One host out of several recordings of it.
#include "topology/merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/machines.h"
#include "tests/topology/merge_parts.h"

namespace lockstep::topology {
namespace {

using test::gpu_id;
using test::messages_of;
using test::nic;
using test::nic_id;
using test::of_source;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Gpu gpu_at(const char* address) {
  Gpu gpu;
  gpu.pci.address = parse_pci_address(address);
  return gpu;
}

Link uplink(DeviceId from, DeviceId to) {
  return {.from = from, .to = to, .kind = LinkKind::pcie, .count = 1, .GBps = std::nullopt};
}

std::vector<std::string> names_of(const Machine& machine) {
  std::vector<std::string> names;
  for (const Nic& nic : machine.nics) {
    names.push_back(nic.port ? fmt::format("{}:{}", nic.name, *nic.port) : nic.name);
  }
  return names;
}

// "GPU0-NIC1 PIX".
std::vector<std::string> stated_of(const Machine& machine) {
  std::vector<std::string> lines;
  for (const StatedPath& path : machine.stated)
    lines.push_back(fmt::format("{}-{} {}", to_string(path.from), to_string(path.to), path.label));
  return lines;
}

TEST(Merge, OfNothingIsAnEmptyMachine) {
  EXPECT_THAT(merge({}).sources, IsEmpty());
}

TEST(Merge, OfOneRecordingIsThatMachine) {
  const Machine whole = test::hgx_h100();
  const Machine merged = merge({whole});
  EXPECT_EQ(merged.name, whole.name);
  EXPECT_EQ(merged.links, whole.links);
  EXPECT_EQ(names_of(merged), names_of(whole));
  EXPECT_THAT(merged.gpus, SizeIs(8));
  EXPECT_THAT(merged.switches, SizeIs(8));
  EXPECT_THAT(merged.nvswitches, SizeIs(4));
  EXPECT_THAT(merged.interfaces, SizeIs(9));
  EXPECT_THAT(merged.findings, IsEmpty());
}

TEST(Merge, OfAMachineWithItselfIsThatMachineWithoutFindings) {
  const Machine whole = test::hgx_h100();
  const Machine merged = merge({whole, whole});
  EXPECT_EQ(merged.links, whole.links);
  EXPECT_EQ(names_of(merged), names_of(whole));
  EXPECT_THAT(merged.gpus, SizeIs(8));
  EXPECT_THAT(merged.numa, SizeIs(2));
  EXPECT_THAT(messages_of(merged), IsEmpty());
  EXPECT_THAT(merged.sources, ElementsAre("built", "built"));
}

TEST(Merge, KnowsDevicesByTheirAddressWhateverTheirOrder) {
  Machine first = of_source("a");
  first.gpus = {gpu_at("0000:17:00.0"), gpu_at("0000:2a:00.0")};
  first.nics = {nic("mlx5_0"), nic("mlx5_1")};
  first.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  Machine second = of_source("b");
  second.gpus = {gpu_at("0000:2a:00.0"), gpu_at("0000:3b:00.0"), gpu_at("0000:17:00.0")};
  second.gpus[0].numa = 7;
  second.nics = {nic("renamed")};
  second.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  second.nics[0].numa = 3;
  second.stated = {{gpu_id(0), nic_id(0), "PIX"}, {gpu_id(1), gpu_id(2), "SYS"}};
  second.peers = {{gpu_id(0), gpu_id(2), 'r', "OK"}};
  second.findings = {{Severity::warning, "x", "of the GPU", "GPU0", ""}};

  const Machine merged = merge({first, second});
  ASSERT_THAT(merged.gpus, SizeIs(3));
  EXPECT_EQ(merged.gpus[1].numa, 7);
  EXPECT_EQ(merged.gpus[2].pci.address, parse_pci_address("0000:3b:00.0"));
  EXPECT_THAT(names_of(merged), ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_EQ(merged.nics[0].numa, 3);
  EXPECT_THAT(stated_of(merged), ElementsAre("GPU1-NIC0 PIX", "GPU2-GPU0 SYS"));
  ASSERT_THAT(merged.peers, SizeIs(1));
  EXPECT_EQ(merged.peers[0].from, gpu_id(1));
  EXPECT_EQ(merged.peers[0].to, gpu_id(0));
  ASSERT_THAT(merged.findings, SizeIs(2));
  EXPECT_EQ(merged.findings[0].where, "GPU1");
  EXPECT_EQ(merged.findings[1].code, "adapters-missing");
}

TEST(Merge, KeepsFindingsOfSeveralDevicesOnThem) {
  Machine first = of_source("a"), second = of_source("b");
  first.gpus = {gpu_at("0000:17:00.0"), gpu_at("0000:2a:00.0")};
  second.gpus = {gpu_at("0000:2a:00.0"), gpu_at("0000:17:00.0")};
  second.findings = {{Severity::warning, "x", "of both", "GPU0, GPU1", ""},
                     {Severity::warning, "y", "of one", "GPU0, GPU7", ""}};
  const Machine merged = merge({first, second});
  ASSERT_THAT(merged.findings, SizeIs(2));
  EXPECT_EQ(merged.findings[0].where, "GPU1, GPU0");
  EXPECT_EQ(merged.findings[1].where, "GPU0, GPU7") << "not of this machine: as it was written";
}

TEST(Merge, KnowsAdaptersByNameAndGpusByPositionWhereARecordingHasNoAddress) {
  Machine matrix = of_source("nvidia-smi-topo");
  matrix.gpus.resize(2);
  matrix.gpus[1].numa = 1;
  matrix.nics = {nic("mlx5_3"), nic("mlx5_0")};
  Machine full = of_source("nccl-xml");
  full.gpus = {gpu_at("0000:17:00.0"), gpu_at("0000:2a:00.0")};
  full.nics = {nic("mlx5_0", 1), nic("mlx5_3", 1), nic("mlx5_5", 1)};
  full.nics[1].pci.address = parse_pci_address("0000:19:00.0");

  const Machine merged = merge({matrix, full});
  ASSERT_THAT(merged.gpus, SizeIs(2));
  EXPECT_EQ(merged.gpus[1].numa, 1);
  EXPECT_EQ(merged.gpus[1].pci.address, parse_pci_address("0000:2a:00.0"));
  EXPECT_THAT(names_of(merged), ElementsAre("mlx5_3:1", "mlx5_0:1", "mlx5_5:1"));
  EXPECT_EQ(merged.nics[0].pci.address, parse_pci_address("0000:19:00.0"));
  EXPECT_THAT(merged.findings, IsEmpty());
}

TEST(Merge, OneNameAtTwoAddressesIsTwoAdapters) {
  Machine a = of_source("a");
  a.nics = {nic("mlx5_0")};
  a.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  Machine b = a;
  b.nics[0].pci.address = parse_pci_address("0000:2a:00.0");
  EXPECT_THAT(merge({a, b}).nics, SizeIs(2));
}

TEST(Merge, PortsThatOneRecordingTellsApartHaveTheDevicesPlace) {
  Machine matrix = of_source("nvidia-smi-topo");
  matrix.gpus.resize(1);
  matrix.nics = {nic("mlx4_0")};
  matrix.nics[0].numa = 1;
  matrix.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  matrix.stated = {{gpu_id(0), nic_id(0), "PXB"}};
  matrix.links = {uplink(nic_id(0), {DeviceKind::numa, 1})};
  Machine ports = of_source("ibstat");
  ports.nics = {nic("mlx4_0", 1), nic("mlx4_0", 2)};
  ports.nics[1].state = NicState::down;

  const Machine merged = merge({matrix, ports});
  EXPECT_THAT(names_of(merged), ElementsAre("mlx4_0:1", "mlx4_0:2"));
  EXPECT_EQ(merged.nics[1].state, NicState::down);
  EXPECT_EQ(merged.nics[1].numa, 1);
  EXPECT_EQ(merged.nics[1].pci.address, matrix.nics[0].pci.address);
  EXPECT_THAT(stated_of(merged), ElementsAre("GPU0-NIC0 PXB", "GPU0-NIC1 PXB", "NIC0-NIC1 PIX"));
  EXPECT_THAT(merged.links, Contains(uplink(nic_id(1), {DeviceKind::numa, 1})));
}

TEST(Merge, TheInterfaceOfAnAdapterIsTheAdapter) {
  Machine tree = of_source("hwloc-xml");
  tree.nics = {nic("ens1"), nic("ens2")};
  tree.nics[0].kind = tree.nics[1].kind = NicKind::ethernet;
  tree.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  tree.nics[1].pci.address = parse_pci_address("0000:2a:00.0");
  Machine rdma = of_source("ibdev2netdev");
  rdma.nics = {nic("mlx5_1", 1)};
  rdma.nics[0].netdev = "ens2";
  rdma.nics[0].kind = NicKind::roce;

  for (const Machine& merged : {merge({tree, rdma}), merge({rdma, tree})}) {
    ASSERT_THAT(merged.nics, SizeIs(2));
    const auto joined = std::ranges::find(merged.nics, "mlx5_1", &Nic::name);
    ASSERT_NE(joined, merged.nics.end());
    EXPECT_EQ(joined->netdev, "ens2");
    EXPECT_EQ(joined->kind, NicKind::roce);
    EXPECT_EQ(joined->pci.address, parse_pci_address("0000:2a:00.0"));
    EXPECT_THAT(merged.findings, IsEmpty());
  }
}

TEST(Merge, ContradictionsNameBothValuesAndBothSources) {
  Machine a = of_source("ibstat");
  a.name = "node1";
  a.gpus = {gpu_at("0000:17:00.0")};
  a.gpus[0].numa = 0;
  a.nics = {nic("mlx5_0", 1), nic("mlx5_1", 1)};
  a.nics[0].rate_Gbps = 400;
  a.nics[0].kind = NicKind::infiniband;
  a.nics[1].state = NicState::down;
  a.nics[1].rate_Gbps = 40;
  a.cpu.sockets = 2;
  a.numa = {{.id = 0, .cpus = *CpuSet::from_list("0-7"), .memory = {}, .socket = {}}};
  Machine b = a;
  b.sources = {"nccl-xml"};
  b.name = "node2";
  b.gpus[0].numa = 1;
  b.nics[0].rate_Gbps = 200;
  b.nics[0].kind = NicKind::roce;
  b.nics[1].rate_Gbps = 400;
  b.cpu.sockets = 1;
  b.numa[0].cpus = *CpuSet::from_list("0-3");

  const Machine merged = merge({a, b});
  EXPECT_EQ(merged.nics[0].rate_Gbps, 400);
  EXPECT_THAT(
      messages_of(merged),
      testing::UnorderedElementsAre(
          "recordings of one host were expected, found \"node1\" by ibstat and \"node2\" by "
          "nccl-xml",
          "the number of sockets of node1: 2 by ibstat, but 1 by nccl-xml",
          "the CPUs of NUMA0: CPUs 0-7 by ibstat, but CPUs 0-3 by nccl-xml",
          "the NUMA node of GPU0: 0 by ibstat, but 1 by nccl-xml",
          "the link layer of mlx5_0: infiniband by ibstat, but roce by nccl-xml",
          "the rate in Gb/s of mlx5_0: 400 by ibstat, but 200 by nccl-xml"));
  for (const Finding& finding : merged.findings) EXPECT_FALSE(finding.remedy.empty());
}

TEST(Merge, RatesThatWereRoundedAgree) {
  Machine a = of_source("a");
  a.nics = {nic("mlx5_0")};
  a.nics[0].rate_Gbps = 56;
  Machine b = a;
  b.nics[0].rate_Gbps = 55.9;
  EXPECT_THAT(merge({a, b}).findings, IsEmpty());
}

TEST(Merge, LinksOfTwoModelsOfOneBoardAreNotAddedUp) {
  Machine whole = test::hgx_h100();
  Machine flat = of_source("flat");
  flat.gpus.resize(2);
  flat.links = {{.from = gpu_id(0),
                 .to = gpu_id(1),
                 .kind = LinkKind::nvlink,
                 .count = 18,
                 .GBps = std::nullopt},
                uplink(gpu_id(0), {DeviceKind::numa, 0})};
  EXPECT_EQ(merge({whole, flat}).links, whole.links);
}

TEST(Merge, ADifferentNumberOfLinksIsSaid) {
  Machine whole = test::hgx_h100();
  Machine lost = whole;
  lost.sources = {"later"};
  const auto link = std::ranges::find(lost.links, LinkKind::nvlink, &Link::kind);
  link->count = 4;
  const Machine merged = merge({whole, lost});
  EXPECT_EQ(merged.links, whole.links);
  EXPECT_THAT(
      messages_of(merged),
      ElementsAre("the number of nvlink links of GPU0 and NVS0: 5 by built, but 4 by later"));
}

TEST(Merge, AMatrixOfPcieDoesNotContradictOneOfNvlinks) {
  Machine links = of_source("nvidia-smi-topo");
  links.gpus.resize(2);
  Machine pcie = links;
  links.stated = {{gpu_id(0), gpu_id(1), "NV18"}};
  pcie.stated = {{gpu_id(1), gpu_id(0), "NODE"}};
  EXPECT_THAT(stated_of(merge({links, pcie})), ElementsAre("GPU0-GPU1 NV18"));
  EXPECT_THAT(stated_of(merge({pcie, links})), ElementsAre("GPU1-GPU0 NV18"));
  EXPECT_THAT(merge({pcie, links}).findings, IsEmpty());
  Machine other = pcie;
  other.sources = {"other"};
  other.stated[0].label = "SYS";
  EXPECT_THAT(messages_of(merge({pcie, other})),
              ElementsAre("the path of GPU0 and GPU1: NODE by nvidia-smi-topo, but SYS by other"));
}

TEST(Merge, NvlinkPortsOfTwoToolsCompleteEachOther) {
  Machine speeds = of_source("speeds");
  speeds.gpus.resize(1);
  speeds.gpus[0].nvlinks = {
      {.number = 0, .active = true, .GBps = 25, .remote = {}, .remote_kind = ""},
      {.number = 1, .active = false, .GBps = {}, .remote = {}, .remote_kind = ""}};
  Machine remotes = of_source("remotes");
  remotes.gpus.resize(1);
  remotes.gpus[0].nvlinks = {
      {.number = 0,
       .active = true,
       .GBps = {},
       .remote = parse_pci_address("0000:2a:00.0"),
       .remote_kind = "GPU"},
      {.number = 1, .active = true, .GBps = {}, .remote = {}, .remote_kind = ""}};
  const Machine merged = merge({speeds, remotes});
  ASSERT_THAT(merged.gpus[0].nvlinks, SizeIs(2));
  EXPECT_EQ(merged.gpus[0].nvlinks[0].GBps, 25);
  EXPECT_EQ(merged.gpus[0].nvlinks[0].remote_kind, "GPU");
  EXPECT_FALSE(merged.gpus[0].nvlinks[1].active);
  EXPECT_THAT(
      messages_of(merged),
      ElementsAre("the state of NVLink 1 of GPU0: inactive by speeds, but active by remotes"));
}

TEST(Merge, AnUnknownNodeDoesNotContradictAKnownOne) {
  Machine a = of_source("a");
  a.gpus.resize(1);
  a.gpus[0].numa = -1;
  Machine b = of_source("b");
  b.gpus.resize(1);
  b.gpus[0].numa = 1;
  const Machine merged = merge({a, b});
  EXPECT_EQ(merged.gpus[0].numa, 1);
  EXPECT_THAT(merged.findings, IsEmpty());
  EXPECT_EQ(merge({a, a}).gpus[0].numa, -1);
}

TEST(Merge, PairsOfDevicesThatAreNotThereAreLeftOut) {
  Machine a = of_source("a");
  a.gpus.resize(1);
  a.links = {uplink(gpu_id(5), gpu_id(-1))};
  a.stated = {{gpu_id(0), nic_id(0), "PIX"}};
  const Machine merged = merge({a, a});
  EXPECT_THAT(merged.links, IsEmpty());
  EXPECT_THAT(merged.stated, IsEmpty());
}

TEST(Merge, SettingsAreInTheOrderInWhichTheyCount) {
  Machine a = of_source("a");
  a.system.settings = {{"NCCL_DEBUG", "WARN", "/etc/nccl.conf"}};
  Machine b = of_source("b");
  b.system.settings = {{"NCCL_DEBUG", "INFO", "environment"},
                       {"NCCL_DEBUG", "VERSION", "/home/x/.nccl.conf"},
                       {"NCCL_DEBUG", "WARN", "/etc/nccl.conf"}};
  EXPECT_THAT(merge({a, b}).system.settings,
              ElementsAre(Setting{"NCCL_DEBUG", "INFO", "environment"},
                          Setting{"NCCL_DEBUG", "VERSION", "/home/x/.nccl.conf"},
                          Setting{"NCCL_DEBUG", "WARN", "/etc/nccl.conf"}));
}

}  // namespace
}  // namespace lockstep::topology
