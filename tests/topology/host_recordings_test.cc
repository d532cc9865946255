// Recordings of real hosts, against what is known to be right of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/topology/corpus.h"
#include "topology/probe/pci.h"
#include "topology/readers/formats.h"
#include "topology/readers/snapshot_tree.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path kCorpus = test::corpus_folder();

class HostRecordings : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kCorpus)) GTEST_SKIP() << "SKIPPED: no recordings at " << kCorpus;
  }
};

std::string content(const std::string& file) {
  std::ifstream stream(kCorpus / file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Machine read_file(const std::string& file) {
  return read_recording({.name = file, .text = content(file)}).machine;
}

std::vector<std::string> nic_names(const Machine& machine) {
  std::vector<std::string> names;
  for (const Nic& nic : machine.nics) names.push_back(nic.name);
  return names;
}

int links_of(const Machine& machine, DeviceId device, LinkKind kind) {
  int count = 0;
  for (const Link& link : machine.links) {
    if (link.kind == kind && (link.from == device || link.to == device)) count += link.count;
  }
  return count;
}

TEST_F(HostRecordings, HwlocDgx2) {
  const Machine machine = read_file("hwloc/nvidiaDGX2.xml");
  EXPECT_EQ(machine.sources, std::vector<std::string>{"hwloc-xml"});
  EXPECT_EQ(machine.cpu.sockets, 2);
  EXPECT_EQ(machine.cpu.cores, 4);
  EXPECT_EQ(machine.cpu.family, 6);
  EXPECT_EQ(machine.cpu.model_number, 85);
  ASSERT_THAT(machine.numa, SizeIs(2));
  ASSERT_THAT(machine.gpus, SizeIs(16));
  EXPECT_THAT(machine.gpus, Each(Field(&Gpu::sm, std::optional(70))));
  EXPECT_EQ(machine.gpus[0].numa, 0);
  EXPECT_EQ(machine.gpus[15].numa, 1);
  ASSERT_THAT(machine.nvswitches, SizeIs(12));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(links_of(machine, {DeviceKind::gpu, i}, LinkKind::nvlink), 6) << "GPU" << i;
  EXPECT_THAT(machine.links, Contains(testing::AllOf(
                                 Field(&Link::from, DeviceId{DeviceKind::gpu, 0}),
                                 Field(&Link::kind, LinkKind::pcie), Field(&Link::GBps, 12.0))));
  // GPU, switch of a pair, switch of two pairs, processor.
  EXPECT_EQ(to_string(*machine.switches.at(0).pci.address), "0000:32:00.0");
  EXPECT_EQ(to_string(*machine.switches.at(1).pci.address), "0000:2c:00.0");
}

TEST_F(HostRecordings, HwlocGb10) {
  const Machine machine = read_file("hwloc/nvidia-dgx-gb10.xml");
  EXPECT_EQ(machine.cpu.architecture, "arm64");
  EXPECT_EQ(machine.cpu.vendor, "0x41");
  EXPECT_EQ(machine.cpu.sockets, 1);
  EXPECT_EQ(machine.cpu.cores, 20);
  EXPECT_EQ(machine.cpu.threads, 20);
  EXPECT_THAT(machine.numa, SizeIs(1));
  EXPECT_THAT(machine.gpus, IsEmpty());
  EXPECT_THAT(machine.nics, IsEmpty());
}

TEST_F(HostRecordings, HwlocWholeIo) {
  const Machine machine = read_file("hwloc/32em64t-2n8c2t-pci-wholeio.xml");
  EXPECT_EQ(machine.cpu.cores, 16);
  EXPECT_EQ(machine.cpu.threads, 32);
  ASSERT_THAT(machine.gpus, SizeIs(3)) << "a graphics card of another maker is no GPU to train on";
  EXPECT_EQ(machine.gpus[2].name, "Tesla K40m");
  EXPECT_EQ(machine.gpus[2].memory, std::uint64_t{11796032} * 1024);
  // The file has address 04:00.0 twice: a disk controller, and the adapter.
  ASSERT_THAT(nic_names(machine), ElementsAre("mlx5_0", "eth0", "eth1"));
  EXPECT_EQ(machine.nics[0].kind, NicKind::infiniband);
  EXPECT_EQ(machine.nics[0].netdev, "ib0");
  EXPECT_EQ(machine.nics[0].state, NicState::active);
}

TEST_F(HostRecordings, HwlocDaxNvmeMic) {
  const Machine machine = read_file("hwloc/32em64t-2n8c+dax+nvme+mic+dimms.xml");
  EXPECT_EQ(machine.cpu.sockets, 2);
  EXPECT_EQ(machine.cpu.cores, 16);
  EXPECT_THAT(machine.numa, SizeIs(2));
  EXPECT_THAT(machine.gpus, IsEmpty());
  EXPECT_THAT(nic_names(machine), ElementsAre("eth0", "eth1", "mlx4_0"));
  EXPECT_EQ(machine.nics[2].numa, 1);
  EXPECT_EQ(machine.nics[2].kind, NicKind::infiniband);
}

TEST_F(HostRecordings, Hwloc96WithSeveralPackagesANode) {
  const Machine machine = read_file("hwloc/96em64t-4n4d3ca2co-pci.xml");
  EXPECT_EQ(machine.cpu.sockets, 16);
  EXPECT_EQ(machine.cpu.cores, 96);
  ASSERT_THAT(machine.numa, SizeIs(4));
  EXPECT_THAT(machine.numa, Each(Field(&NumaNode::socket, std::optional<int>())));
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "24-47");
  EXPECT_THAT(machine.nics, SizeIs(8));
  EXPECT_THAT(machine.gpus, IsEmpty());
}

TEST_F(HostRecordings, SysfsOfTheDaxHostAgreesWithItsHwlocFile) {
  const Machine sysfs = read_file("sysfs/32em64t-2n8c+dax+nvme+mic+dimms.sysfs.txt");
  const Machine hwloc = read_file("hwloc/32em64t-2n8c+dax+nvme+mic+dimms.xml");
  EXPECT_EQ(sysfs.cpu.sockets, hwloc.cpu.sockets);
  EXPECT_EQ(sysfs.cpu.cores, hwloc.cpu.cores);
  EXPECT_EQ(sysfs.cpu.threads, hwloc.cpu.threads);
  ASSERT_EQ(sysfs.numa.size(), hwloc.numa.size());
  for (std::size_t i = 0; i < sysfs.numa.size(); ++i)
    EXPECT_EQ(sysfs.numa[i].cpus, hwloc.numa[i].cpus);
  EXPECT_THAT(sysfs.gpus, IsEmpty());
  EXPECT_EQ(sysfs.system.product, hwloc.system.product);
  const auto rdma = std::ranges::find(sysfs.nics, "mlx4_0", &Nic::name);
  ASSERT_NE(rdma, sysfs.nics.end());
  EXPECT_EQ(rdma->rate_Gbps, 56);
  EXPECT_EQ(rdma->netdev, "ib0");
  EXPECT_EQ(rdma->numa, 1);
  EXPECT_EQ(rdma->board, "MT4099");
  EXPECT_THAT(rdma->gids, SizeIs(1));
}

TEST_F(HostRecordings, SysfsWithoutLocalityDoesNotInventIt) {
  const Machine machine = read_file("sysfs/40intel64-4n10c+pci-conflicts.sysfs.txt");
  EXPECT_EQ(machine.cpu.sockets, 4);
  EXPECT_EQ(machine.cpu.cores, 40);
  ASSERT_THAT(machine.numa, SizeIs(4));
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "1,5,9,13,17,21,25,29,33,37");
  EXPECT_THAT(machine.gpus, IsEmpty());
  EXPECT_THAT(machine.findings, Contains(testing::AllOf(Field(&Finding::code, "unreadable"),
                                                        Field(&Finding::where, "/proc/cpuinfo"))));
}

TEST(Acceptance, T12_FiveDigitDomainsAreReadAndBondsAreNoRails) {
  if (!std::filesystem::exists(kCorpus)) GTEST_SKIP() << "SKIPPED: no recordings at " << kCorpus;
  const std::string text = content("sysfs/2pa-pcidomain32bits.sysfs.txt");
  const PciTree pci = read_pci(SnapshotTree(text));
  EXPECT_THAT(pci, Contains(testing::Key(PciAddress{0x10000, 0, 4, 0})));
  EXPECT_THAT(pci, SizeIs(9));
  EXPECT_THAT(nic_names(read_file("sysfs/2pa-pcidomain32bits.sysfs.txt")), ElementsAre("ens3"));

  const Machine machine = read_file("sysfs/h100-9hca.sys-class-infiniband.txt");
  EXPECT_THAT(nic_names(machine), ElementsAre("mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5", "mlx5_6",
                                              "mlx5_7", "mlx5_8", "mlx5_9", "mlx5_bond_0"));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(machine.nics[i].kind, NicKind::infiniband);
    EXPECT_EQ(machine.nics[i].rate_Gbps, 400);
    EXPECT_EQ(machine.nics[i].state, NicState::active);
  }
  EXPECT_EQ(machine.nics[8].kind, NicKind::roce) << "a bond of Ethernet is no InfiniBand rail";
  EXPECT_EQ(machine.nics[8].rate_Gbps, 200);
}

TEST(Acceptance, T12_VirtualFunctionsCollapseToTheirNic) {
  if (!std::filesystem::exists(kCorpus)) GTEST_SKIP() << "SKIPPED: no recordings at " << kCorpus;
  const Machine machine = read_file("hwloc/16intel64-manyVFs.xml");
  EXPECT_EQ(machine.cpu.sockets, 2);
  EXPECT_EQ(machine.cpu.cores, 16);
  EXPECT_THAT(machine.numa, SizeIs(2));
  EXPECT_THAT(machine.gpus, IsEmpty());
  // Six physical functions; the other twelve of the 18 are theirs.
  EXPECT_THAT(nic_names(machine),
              ElementsAre("eth0", "eth1", "usnic_0", "usnic_1", "usnic_2", "eth7"));
  EXPECT_EQ(machine.nics[2].netdev, "eth4");
  EXPECT_EQ(machine.nics[4].numa, 1);
  EXPECT_THAT(machine.findings,
              Contains(testing::AllOf(Field(&Finding::code, "virtual-functions"),
                                      Field(&Finding::where, "usnic_2"),
                                      Field(&Finding::message, HasSubstr("5 virtual")))));
}

}  // namespace
}  // namespace lockstep::topology
