// Processors, memory nodes, network ports, drivers and limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/topology/findings/built.h"
#include "tests/topology/machines.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

using test::hgx_h100;
using test::matrix;
using test::summary;
using test::workstation;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Machine of_nodes(const std::vector<std::string>& cpus) {
  Machine machine;
  for (const std::string& list : cpus) {
    NumaNode node;
    node.id = static_cast<int>(machine.numa.size());
    node.cpus = *CpuSet::from_list(list);
    machine.numa.push_back(node);
  }
  return machine;
}

TEST(CpuMasks, NodesOfTheirOwnCpusHaveNoFindings) {
  EXPECT_THAT(cpu_masks(hgx_h100()), IsEmpty());
  EXPECT_THAT(cpu_masks(of_nodes({"0-11,24-35", "12-23,36-47", "", ""})), IsEmpty())
      << "nodes of memory only have none";
  EXPECT_THAT(cpu_masks(of_nodes({"0,2,4", "1,3,5"})), IsEmpty());
}

TEST(CpuMasks, IdenticalMasksAreNamed) {
  const auto found = cpu_masks(of_nodes({"0-15,32-47", "0-15,32-47", "16-31", "0-15,32-47"}));
  ASSERT_THAT(summary(found), ElementsAre("warning identical-cpu-masks NUMA0"));
  EXPECT_THAT(found[0].message, HasSubstr("NUMA nodes 0, 1 and 3 have identical CPU masks"));
}

TEST(CpuMasks, OverlappingAndShortMasksAreNamed) {
  EXPECT_THAT(summary(cpu_masks(of_nodes({"0-15", "15-30"}))),
              ElementsAre("warning overlapping-cpu-masks NUMA0"));
  const auto found = cpu_masks(of_nodes({"0-31", "32-39"}));
  ASSERT_THAT(summary(found), ElementsAre("warning short-cpu-mask NUMA1"));
  EXPECT_THAT(found[0].message, HasSubstr("NUMA node 1 has 8 CPUs (32-39), another one has 32"));
}

TEST(CpuMasks, AMaskOfAnotherWidthIsNamed) {
  Machine machine = of_nodes({"0-15", "16-31"});
  machine.numa[0].mask_words = 4;
  machine.numa[1].mask_words = 2;
  EXPECT_THAT(summary(cpu_masks(machine)), ElementsAre("warning cpu-mask-width NUMA1"));
  machine.numa[1].mask_words = 4;
  EXPECT_THAT(cpu_masks(machine), IsEmpty());
}

TEST(Processors, AFileWithoutThemNamesWhatLacks) {
  Machine machine = of_nodes({"", ""});
  machine.sources = {"nccl-xml"};
  const auto found = processors(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning incomplete-processor NUMA0",
                                          "warning incomplete-processor NUMA1"));
  EXPECT_THAT(found[0].message, HasSubstr("cpu numaid 0 lacks arch, vendor"));
}

TEST(Processors, OnlyIntelNeedsItsModel) {
  Machine machine = hgx_h100();
  machine.sources = {"nccl-xml"};
  EXPECT_THAT(processors(machine), IsEmpty());
  machine.cpu.model_number.reset();
  EXPECT_THAT(processors(machine)[0].message, HasSubstr("lacks modelid"));
  machine.cpu.vendor = "AuthenticAMD";
  EXPECT_THAT(processors(machine), IsEmpty());
  machine.cpu = {.architecture = "arm64", .vendor = "", .model = ""};
  EXPECT_THAT(processors(machine), IsEmpty());
}

TEST(Processors, OtherRecordingsNeedNotSay) {
  Machine machine = of_nodes({"0-3"});
  machine.sources = {"nvidia-smi-topo"};
  EXPECT_THAT(processors(machine), IsEmpty());
}

TEST(NicStates, AHealthyHostHasNoAlarms) {
  EXPECT_THAT(summary(nic_states(hgx_h100())), ElementsAre("info ethernet-among-infiniband NIC8"))
      << "its bond is the host's own network";
  EXPECT_THAT(nic_states(workstation()), IsEmpty());
}

TEST(NicStates, ABondAmongInfinibandIsAHintThatSaysWhatNcclDoesWithIt) {
  Machine machine = hgx_h100();
  const auto found = nic_states(machine);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message,
              HasSubstr("NIC8 (mlx5_bond_0) at 100 Gb/s is an Ethernet bond among 8 InfiniBand "
                        "ports: NCCL uses every active port, and takes it for a rail too unless "
                        "NCCL_IB_HCA says otherwise."));
  // Two adapters whose interfaces are members of one bond.
  machine.nics[8].name = "mlx5_8";
  machine.nics.push_back(machine.nics[8]);
  machine.nics.back().name = "mlx5_9";
  EXPECT_THAT(summary(nic_states(machine)),
              ElementsAre("info ethernet-among-infiniband NIC8, NIC9"));
  machine.system.settings = {{"NCCL_IB_HCA", "^mlx5_8,mlx5_9", "environment"}};
  EXPECT_THAT(nic_states(machine), IsEmpty());
}

TEST(NicStates, AnInfinibandPortThatIsDownIsAWarning) {
  Machine machine = hgx_h100();
  machine.nics[7].state = NicState::down;
  machine.nics[7].physical_state = "Polling";
  machine.nics.pop_back();  // the bond
  const auto found = nic_states(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning nic-down NIC7"));
  EXPECT_THAT(found[0].message, HasSubstr("NIC7 (mlx5_7) is down, its link is Polling"));
}

TEST(NicStates, ASparePortIsAHintAndAnUnusedInterfaceNothing) {
  Machine machine = hgx_h100();
  machine.nics.pop_back();  // the bond
  machine.nics.push_back(machine.nics[0]);
  machine.nics.back().name = "mlx5_9";
  machine.nics.back().pci.address->function = 1;
  machine.nics.back().state = NicState::down;
  EXPECT_THAT(summary(nic_states(machine)), ElementsAre("info nic-down NIC8"));
  machine.nics.back().pci.address.reset();
  EXPECT_THAT(summary(nic_states(machine)), ElementsAre("warning nic-down NIC8"));
  machine.nics.back().name = "mlx5_0";
  machine.nics.back().port = 2;
  EXPECT_THAT(summary(nic_states(machine)), ElementsAre("info nic-down NIC8"));
  Machine desk = workstation();
  desk.nics[0].state = NicState::down;
  EXPECT_THAT(nic_states(desk), IsEmpty());
}

TEST(NicStates, EthernetAmongInfinibandIsNamedUnlessItIsLeftOut) {
  Machine machine = hgx_h100();
  machine.nics[1].kind = NicKind::roce;
  machine.nics[1].rate_Gbps = 100;
  const auto found = nic_states(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning ethernet-among-infiniband NIC1",
                                          "info ethernet-among-infiniband NIC8"));
  EXPECT_THAT(found[0].message, HasSubstr("NIC1 (mlx5_1) at 100 Gb/s is Ethernet among 7"));
  machine.system.settings = {{"NCCL_IB_HCA", "=mlx5_0", "environment"}};
  EXPECT_THAT(nic_states(machine), IsEmpty());
}

TEST(NicStates, EthernetAloneIsAFabricOfItsOwn) {
  Machine machine = hgx_h100();
  for (Nic& nic : machine.nics) nic.kind = NicKind::roce;
  EXPECT_THAT(nic_states(machine), IsEmpty());
}

Nic roce_with(std::vector<Gid> gids) {
  Nic nic;
  nic.name = "mlx5_bond_0";
  nic.kind = NicKind::roce;
  nic.gids = std::move(gids);
  return nic;
}

Gid gid(int index, const char* address, const char* type, const char* netdev) {
  return {.index = index, .address = address, .type = type, .netdev = netdev, .readable = true};
}

constexpr const char* kAddress = "0000:0000:0000:0000:0000:ffff:0a01:0203";
constexpr const char* kLinkLocal = "fe80:0000:0000:0000:0ac0:ebff:fe13:0001";

TEST(DuplicateAddresses, OneOnTwoInterfacesIsNamed) {
  Machine machine;
  machine.nics.push_back(
      roce_with({gid(0, kLinkLocal, "RoCE v2", "bond1"), gid(1, kLinkLocal, "RoCE v2", "vxlan7"),
                 gid(2, kAddress, "RoCE v1", "vxlan7"), gid(3, kAddress, "RoCE v2", "vxlan7"),
                 gid(4, kAddress, "RoCE v1", "bond1"), gid(5, kAddress, "RoCE v2", "bond1")}));
  const auto found = duplicate_addresses(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning duplicate-roce-address NIC0"));
  EXPECT_THAT(found[0].message, HasSubstr("GIDs 3 (vxlan7) and 5 (bond1) of NIC0 (mlx5_bond_0)"));
}

TEST(DuplicateAddresses, BothVersionsOfOneInterfaceAreAsItShouldBe) {
  Machine machine;
  machine.nics.push_back(
      roce_with({gid(0, kLinkLocal, "RoCE v1", "ens3"), gid(1, kLinkLocal, "RoCE v2", "ens3"),
                 gid(2, kAddress, "RoCE v1", "ens3"), gid(3, kAddress, "RoCE v2", "ens3")}));
  machine.nics.push_back(roce_with({gid(3, kAddress, "RoCE v2", "ens4")}));
  EXPECT_THAT(duplicate_addresses(machine), IsEmpty());
}

TEST(MissingDrivers, GpudirectIsMissedOnlyWhereItIsKnownToBeAbsent) {
  Machine machine = hgx_h100();
  EXPECT_THAT(missing_drivers(machine), IsEmpty());
  machine.system.peer_memory = false;
  EXPECT_THAT(missing_drivers(machine), IsEmpty()) << "DMA-BUF is not known";
  machine.system.dmabuf = true;
  EXPECT_THAT(missing_drivers(machine), IsEmpty());
  machine.system.dmabuf = false;
  EXPECT_THAT(summary(missing_drivers(machine)), ElementsAre("warning no-gpudirect hgx"));
  machine.gpus.clear();
  EXPECT_THAT(missing_drivers(machine), IsEmpty());
}

TEST(MissingDrivers, AContainerWithoutVerbsIsNamed) {
  Machine machine = hgx_h100();
  machine.system.verbs_devices = false;
  EXPECT_THAT(summary(missing_drivers(machine)), ElementsAre("warning no-verbs-devices hgx"));
  Machine desk = workstation();
  desk.system.verbs_devices = false;
  EXPECT_THAT(missing_drivers(desk), IsEmpty());
}

TEST(MissingDrivers, NvswitchesNeedTheirManagerOnTheHost) {
  Machine machine = hgx_h100();
  machine.system.fabric_manager = false;
  EXPECT_THAT(summary(missing_drivers(machine)), ElementsAre("error no-fabric-manager hgx"));
  machine.system.container = true;
  EXPECT_THAT(missing_drivers(machine), IsEmpty());
  Machine desk = workstation();
  desk.system.fabric_manager = false;
  EXPECT_THAT(missing_drivers(desk), IsEmpty());
}

TEST(Limits, SharedMemoryIsMeasuredByTheGpus) {
  Machine machine = hgx_h100();
  machine.system.shared_memory = 80'000'000;
  EXPECT_THAT(limits(machine), IsEmpty());
  machine.system.shared_memory = 79'999'999;
  EXPECT_THAT(summary(limits(machine)), ElementsAre("warning small-shared-memory /dev/shm"));
  Machine desk = workstation();
  desk.system.shared_memory = std::uint64_t{64} << 20;
  ASSERT_THAT(summary(limits(desk)), ElementsAre("warning small-shared-memory /dev/shm"));
  EXPECT_THAT(limits(desk)[0].message, HasSubstr("67 MB, Docker's default"));
  desk.gpus.clear();
  EXPECT_THAT(limits(desk), IsEmpty());
}

TEST(Limits, LockedMemoryMattersToRdmaOnly) {
  Machine machine = hgx_h100();
  machine.system.locked_memory = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(limits(machine), IsEmpty());
  machine.system.locked_memory = 8 << 20;
  const auto found = limits(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning low-locked-memory RLIMIT_MEMLOCK"));
  EXPECT_THAT(found[0].message, HasSubstr("8192 KiB"));
  Machine desk = workstation();
  desk.system.locked_memory = 8 << 20;
  EXPECT_THAT(limits(desk), IsEmpty());
}

TEST(Iommu, ATranslatingOneIsAHintForGpusOnPcie) {
  Machine machine = workstation();
  EXPECT_THAT(iommu(machine), IsEmpty());
  machine.system.iommu_groups = 60;
  machine.system.kernel_command_line = "quiet amd_iommu=on";
  EXPECT_THAT(summary(iommu(machine)), ElementsAre("info iommu-on desk"));
  machine.system.kernel_command_line += " iommu=pt";
  EXPECT_THAT(iommu(machine), IsEmpty());
  machine.system.kernel_command_line = "";
  machine.gpus.resize(1);
  EXPECT_THAT(iommu(machine), IsEmpty()) << "one GPU has no peer";
}

TEST(ProviderFiles, AnAzureMachineIsToldOfItsFile) {
  Machine machine = hgx_h100();
  machine.sources = {"live"};
  EXPECT_THAT(provider_files(machine), IsEmpty());
  machine.system.provider = Provider::azure;
  EXPECT_THAT(summary(provider_files(machine)), ElementsAre("warning provider-file-unused hgx"));
  machine.system.settings = {{"NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", "/etc/nccl.conf"}};
  EXPECT_THAT(provider_files(machine), IsEmpty());
}

TEST(ProviderFiles, AHiddenSocketIsNamed) {
  Machine machine = hgx_h100();
  machine.system.provider = Provider::azure;
  EXPECT_THAT(provider_files(machine), IsEmpty());
  for (Gpu& gpu : machine.gpus) gpu.numa = 0;
  EXPECT_THAT(summary(provider_files(machine)), ElementsAre("warning single-numa hgx"));
}

// Eight GPUs on one node, each with NVLinks to `peers` others, all else NODE.
Machine matrix_of_one_node(int peers) {
  Machine machine;
  machine.name = "vm";
  machine.gpus.resize(8);
  for (Gpu& gpu : machine.gpus) gpu.numa = 0;
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      const int apart = std::min(b - a, 8 - (b - a));  // round a ring
      machine.stated.push_back(
          {{DeviceKind::gpu, a}, {DeviceKind::gpu, b}, 2 * apart <= peers ? "NV2" : "NODE"});
    }
  }
  return machine;
}

TEST(ProviderFiles, AMeshOnOneNodeIsAHiddenSocketWhoeverProvidesIt) {
  EXPECT_THAT(summary(provider_files(matrix_of_one_node(4))),
              ElementsAre("warning single-numa vm"));
  EXPECT_THAT(provider_files(matrix_of_one_node(0)), IsEmpty()) << "eight slots of one socket";
  Machine switched = matrix_of_one_node(4);
  switched.stated.back().label = "PXB";
  EXPECT_THAT(provider_files(switched), IsEmpty()) << "what is there is shown";
  Machine two = matrix_of_one_node(4);
  two.gpus[7].numa = 1;
  EXPECT_THAT(provider_files(two), IsEmpty());
  Machine told = matrix_of_one_node(4);
  told.system.settings = {{"NCCL_TOPO_FILE", "/opt/topo.xml", "environment"}};
  EXPECT_THAT(provider_files(told), IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology::findings
