// PCIe links, switches that claim what cannot be, access control, and distance of NICs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/topology/findings/built.h"
#include "tests/topology/machines.h"
#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

using test::hgx_h100;
using test::matrix;
using test::summary;
using test::workstation;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Evidence, WhatHangsBelowASwitchIsFoundThroughOthersAndInCircles) {
  Machine machine = hgx_h100();
  const DeviceId outer{DeviceKind::pcie_switch, 8}, inner{DeviceKind::pcie_switch, 0};
  machine.switches.emplace_back();
  machine.links.push_back({inner, outer, LinkKind::pcie, 1, {}});
  machine.links.push_back({outer, inner, LinkKind::pcie, 1, {}});
  EXPECT_THAT(below(machine, outer),
              ElementsAre(DeviceId{DeviceKind::gpu, 0}, DeviceId{DeviceKind::nic, 0}));
}

TEST(Evidence, WirelessAndPlainEthernetCarryNoRdma) {
  Nic nic;
  EXPECT_TRUE(may_carry_rdma(nic)) << "of a kind that is not recorded";
  nic.pci.class_code = 0x028000;
  EXPECT_FALSE(may_carry_rdma(nic));
  nic = {};
  nic.rate_Gbps = 1;
  EXPECT_FALSE(may_carry_rdma(nic));
  nic.kind = NicKind::infiniband;
  EXPECT_TRUE(may_carry_rdma(nic));
  nic.kind = NicKind::ethernet;
  EXPECT_FALSE(may_carry_rdma(nic));
  nic.pci.vendor = 0x15b3;
  EXPECT_TRUE(may_carry_rdma(nic));
}

TEST(PcieLinks, WholeLinksHaveNoFindings) {
  EXPECT_THAT(pcie_links(hgx_h100()), IsEmpty());
  EXPECT_THAT(pcie_links(workstation()), IsEmpty());
}

TEST(PcieLinks, FewerLanesAreAWarning) {
  Machine machine = hgx_h100();
  machine.gpus[3].pci.link.width = 8;
  machine.nics[2].pci.link.width = 4;
  const auto found = pcie_links(machine);
  ASSERT_THAT(summary(found),
              ElementsAre("warning narrow-pcie-link GPU3", "warning narrow-pcie-link NIC2"));
  EXPECT_THAT(found[0].message, HasSubstr("GPU3 (0000:42:00.0) runs on 8 of the 16 PCIe lanes"));
  EXPECT_THAT(found[1].message, HasSubstr("NIC2 (mlx5_2) runs on 4 of the 16"));
}

TEST(PcieLinks, ASlotThatCanDoNoMoreIsNoFault) {
  Machine machine = hgx_h100();
  machine.switches[0].pci.link.max_speed = machine.switches[0].pci.link.speed = 16;
  machine.nics[0].pci.link.speed = 16;
  EXPECT_THAT(pcie_links(machine), IsEmpty());
  machine.nics[1].pci.link.speed = 16;
  EXPECT_THAT(summary(pcie_links(machine)), ElementsAre("warning slow-pcie-link NIC1"));
}

TEST(PcieLinks, IdleGpusAreAHintAndTheirSwitchesNone) {
  Machine machine = hgx_h100();
  for (const std::size_t i : {0, 1, 2}) {
    machine.gpus[i].pci.link.speed = 2.5;
    machine.switches[i].pci.link.speed = 2.5;
  }
  const auto found = pcie_links(machine);
  ASSERT_THAT(summary(found), ElementsAre("info slow-pcie-link GPU0"));
  EXPECT_THAT(found[0].message, HasSubstr("GPU0, GPU1 and GPU2 run at 2.5 of 32 GT/s"));
}

TEST(PcieLinks, PortsWithNothingBelowAreOfNoConcern) {
  Machine machine = workstation();
  Switch empty;
  empty.pci.link = {.max_speed = 16, .speed = 2.5, .max_width = 16, .width = 1, .as_written = ""};
  machine.switches.push_back(empty);
  EXPECT_THAT(pcie_links(machine), IsEmpty());
}

TEST(PcieLinks, TheUplinkOfASwitchIsJudged) {
  Machine machine = hgx_h100();
  machine.switches[3].pci.link.width = 8;
  EXPECT_THAT(summary(pcie_links(machine)), ElementsAre("warning narrow-pcie-link SW3"));
}

TEST(PcieLinks, APortRunsAsItsOneCardCan) {
  Machine machine = workstation();
  Switch slot;
  slot.pci.link = {.max_speed = 32, .speed = 8, .max_width = 16, .width = 4, .as_written = ""};
  machine.switches.push_back(slot);
  for (const std::uint8_t function : {0, 1}) {
    const DeviceId id{DeviceKind::nic, static_cast<int>(machine.nics.size())};
    machine.nics.push_back(machine.nics[0]);
    machine.nics.back().pci.address = PciAddress{0, 0x41, 0, function};
    machine.links.push_back({id, {DeviceKind::pcie_switch, 0}, LinkKind::pcie, 1, {}});
  }
  EXPECT_THAT(pcie_links(machine), IsEmpty());
}

TEST(PcieLinks, VirtualFunctionsDoNotSay) {
  Machine machine = hgx_h100();
  machine.nics[0].virtual_function = true;
  machine.nics[0].pci.link.width = 1;
  machine.nics[1].pci.link.width = 0;
  machine.nics[1].pci.link.speed = 0;
  EXPECT_THAT(pcie_links(machine), IsEmpty());
}

TEST(SwitchUplinks, RealSwitchesHaveNoFindings) {
  EXPECT_THAT(switch_uplinks(hgx_h100()), IsEmpty());
}

TEST(SwitchUplinks, AVirtualSwitchThatNcclBelievesIsAnError) {
  Machine machine = hgx_h100();
  PciDevice& pci = machine.switches[2].pci;
  pci.vendor = 0x104c;
  pci.device = 0x8232;
  pci.link = {.max_speed = 2.5, .speed = 2.5, .max_width = 1, .width = 1, .as_written = "2.5 GT/s"};
  const auto found = switch_uplinks(machine);
  ASSERT_THAT(summary(found), ElementsAre("error slow-virtual-switch SW2"));
  EXPECT_THAT(found[0].message, HasSubstr("virtual switch 104c:8232 at 2.5 GT/s x1 = 0.2 GB/s"));
  EXPECT_THAT(found[0].remedy, HasSubstr("NCCL_TOPO_FILE"));
}

TEST(SwitchUplinks, ALogThatGivesOnlyTheBandwidthSaysTheSame) {
  Machine machine;
  machine.gpus.resize(1);
  machine.switches.resize(1);
  machine.switches[0].pci.vendor = 0x104c;
  machine.switches[0].pci.device = 0x8232;
  machine.numa = {{.id = 0, .cpus = {}, .memory = {}, .socket = {}}};
  const DeviceId port{DeviceKind::pcie_switch, 0};
  machine.links = {{{DeviceKind::gpu, 0}, port, LinkKind::pcie, 1, 48.0},
                   {port, {DeviceKind::numa, 0}, LinkKind::pcie, 1, 0.2}};
  const auto found = switch_uplinks(machine);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message, HasSubstr("virtual switch 104c:8232 at 2.5 GT/s x1 = 0.2 GB/s"));
}

TEST(SwitchUplinks, TheBridgeOfAConsoleIsAsSlowAsItMayBe) {
  Machine machine = workstation();
  Switch console;
  console.pci.link = {.max_speed = 2.5, .speed = 2.5, .max_width = 1, .width = 1, .as_written = ""};
  machine.switches.push_back(console);
  machine.links.push_back(
      {{DeviceKind::nic, 0}, {DeviceKind::pcie_switch, 0}, LinkKind::pcie, 1, {}});
  EXPECT_THAT(switch_uplinks(machine), IsEmpty()) << "plain Ethernet below it";
}

TEST(SwitchUplinks, SwitchesWithTheSameClaimAreOneFinding) {
  Machine machine = hgx_h100();
  for (const std::size_t i : {0, 4}) {
    machine.switches[i].pci.vendor = 0x1000;
    machine.switches[i].pci.device = 0xc030;
    machine.switches[i].pci.link = {.max_speed = 5,
                                    .speed = std::nullopt,
                                    .max_width = 16,
                                    .width = std::nullopt,
                                    .as_written = "5.0 GT/s PCIe"};
  }
  const auto found = switch_uplinks(machine);
  ASSERT_THAT(summary(found), ElementsAre("warning suspicious-switch-uplink SW0, SW4"));
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("SW0 (0000:10:00.0) and SW4 (0000:50:00.0) claim an uplink of 6.0 "
                              "GB/s (5 GT/s x16, \"5.0 GT/s PCIe\", switch 1000:c030)"),
                    HasSubstr("48.0 GB/s")));
}

TEST(SwitchUplinks, AGen4HostOfGen5DevicesIsNoFault) {
  Machine machine = hgx_h100();
  machine.switches[0].pci.link.max_speed = machine.switches[0].pci.link.speed = 16;
  EXPECT_THAT(switch_uplinks(machine), IsEmpty());
}

Machine read_by_lspci() {
  Machine machine = hgx_h100();
  machine.sources = {"lspci"};
  return machine;
}

TEST(AccessControl, BridgesThatDoNotRedirectHaveNoFindings) {
  EXPECT_THAT(access_control(read_by_lspci()), IsEmpty());
}

TEST(AccessControl, RedirectionIsAWarningABridgeAndValidationAHint) {
  Machine machine = read_by_lspci();
  machine.switches[1].access_control = {.source_validation = true,
                                        .request_redirect = true,
                                        .completion_redirect = true,
                                        .upstream_forwarding = true};
  machine.switches[3].access_control->source_validation = true;
  const auto found = access_control(machine);
  ASSERT_THAT(summary(found),
              ElementsAre("warning acs-redirect SW1", "info acs-source-validation SW3"));
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("SW1 (0000:20:00.0)"),
                                      HasSubstr("SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+")));
  EXPECT_THAT(found[0].remedy, HasSubstr("setpci"));
}

TEST(AccessControl, AnyOneBitRedirects) {
  for (const auto bit : {&AccessControl::request_redirect, &AccessControl::completion_redirect,
                         &AccessControl::upstream_forwarding}) {
    Machine machine = read_by_lspci();
    (*machine.switches[0].access_control).*bit = true;
    EXPECT_THAT(summary(access_control(machine)), ElementsAre("warning acs-redirect SW0"));
  }
}

TEST(AccessControl, AGuestIsToldWhatAGuestCanDo) {
  Machine machine = read_by_lspci();
  machine.switches[0].access_control->request_redirect = true;
  machine.system.virtual_machine = true;
  EXPECT_THAT(access_control(machine)[0].remedy, HasSubstr("ATS"));
}

TEST(AccessControl, WhatCannotBeReadIsNeverSaidToBeWell) {
  Machine machine = read_by_lspci();
  for (Switch& bridge : machine.switches) bridge.access_control.reset();
  const auto found = access_control(machine);
  ASSERT_THAT(summary(found), ElementsAre("info access-control-unknown hgx"));
  EXPECT_THAT(found[0].message, HasSubstr("cannot be told"));
  machine.findings = found;
  EXPECT_THAT(access_control(machine), IsEmpty()) << "the reader said so";
  machine.findings.clear();
  machine.sources = {"nccl-xml"};
  EXPECT_THAT(access_control(machine), IsEmpty()) << "such a file never speaks of it";
}

TEST(AccessControl, AServerWithoutGpusMayRedirect) {
  Machine machine = read_by_lspci();
  machine.gpus.clear();
  machine.switches[0].access_control->request_redirect = true;
  EXPECT_THAT(access_control(machine), IsEmpty());
}

// A table of what a matrix states.
PathTable table_of(const Machine& machine) {
  std::vector<Path> paths;
  for (const StatedPath& stated : machine.stated) {
    const auto kind = stated.label == "NODE"           ? PathKind::PHB
                      : stated.label.starts_with("NV") ? PathKind::NVL
                                                       : *parse_path_kind(stated.label);
    paths.push_back({stated.from, stated.to, kind, stated.label, std::nullopt});
  }
  return PathTable(std::move(paths));
}

Machine flat_guest() {
  Machine machine = matrix({"X NV18 NV18 PHB PHB", "NV18 X NV18 PHB PHB", "NV18 NV18 X PHB PHB"});
  machine.stated.push_back({{DeviceKind::nic, 0}, {DeviceKind::nic, 1}, "PHB"});
  return machine;
}

TEST(Distance, AFlatMatrixOfASwitchedBoardIsHiddenNotNear) {
  const Machine machine = flat_guest();
  const auto found = gpu_nic_distance(machine, table_of(machine));
  ASSERT_THAT(summary(found), ElementsAre("warning hidden-pci-topology"));
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("unknown"), HasSubstr("GPUDirect")));
}

TEST(Distance, AMatrixWithANearPortIsNotFlat) {
  Machine machine = flat_guest();
  machine.stated[2].label = "PIX";
  EXPECT_THAT(gpu_nic_distance(machine, table_of(machine)), IsEmpty());
}

TEST(Distance, AServerOfRootPortsIsFlatByDesign) {
  Machine machine = matrix({"X PHB PHB PHB", "PHB X PHB PHB"});
  machine.stated.push_back({{DeviceKind::nic, 0}, {DeviceKind::nic, 1}, "PHB"});
  EXPECT_THAT(gpu_nic_distance(machine, table_of(machine)), IsEmpty());
}

TEST(Distance, AnAdapterOnTheOtherSocketIsNamed) {
  const Machine machine = matrix({"X NV1 SYS", "NV1 X SYS"});
  const auto found = gpu_nic_distance(machine, table_of(machine));
  ASSERT_THAT(summary(found), ElementsAre("warning distant-nic NIC0"));
  EXPECT_THAT(found[0].message, HasSubstr("NIC0 (mlx5_0)"));
}

TEST(Distance, GraceIsSysEverywhereByDesign) {
  Machine machine = matrix({"X NV18 SYS SYS", "NV18 X SYS SYS"});
  machine.gpus[0].memory_numa = 2;
  EXPECT_THAT(gpu_nic_distance(machine, table_of(machine)), IsEmpty());
}

TEST(Distance, WhatIsNotRecordedIsNotJudged) {
  const Machine machine = hgx_h100();
  EXPECT_THAT(gpu_nic_distance(machine, PathTable({})), IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology::findings
