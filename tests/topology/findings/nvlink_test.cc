// Lost, inactive and missing NVLinks, dead bridges, and refused peer access.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// All rules about NVLink.
std::vector<Finding> judged(const Machine& machine) {
  std::vector<Finding> found;
  for (const auto rule : {lost_nvlinks, inactive_nvlinks, missing_nvlinks, dead_bridges}) {
    const std::vector<Finding> more = rule(machine);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

std::vector<NvlinkPort> ports(const std::string& states) {
  std::vector<NvlinkPort> ports;
  for (const char state : states)
    ports.push_back({.number = static_cast<int>(ports.size()), .active = state == '1'});
  return ports;
}

TEST(Nvlink, WholeMachinesHaveNoFindings) {
  EXPECT_THAT(judged(hgx_h100()), IsEmpty());
  EXPECT_THAT(judged(workstation()), IsEmpty()) << "no NVLink at all is no fault";
  EXPECT_THAT(judged(Machine{}), IsEmpty());
}

TEST(Nvlink, BridgesOfEveryKindAreWhole) {
  for (const char* label : {"NV1", "NV2", "NV4", "NV8", "NV12", "NV18"}) {
    EXPECT_THAT(judged(matrix({fmt::format("X {}", label), fmt::format("{} X", label)})), IsEmpty())
        << label;
  }
  EXPECT_THAT(judged(matrix({"X NV3 SYS SYS", "NV3 X SYS SYS", "SYS SYS X NV3", "SYS SYS NV3 X"})),
              IsEmpty())
      << "pairs of POWER9 hosts have three links";
}

TEST(Nvlink, MeshesOfUnequalPairsAreWhole) {
  // Half of a cube mesh, as a guest gets it: 4, 4, 5 and 5 links.
  EXPECT_THAT(judged(matrix({"X NV1 NV1 NV2", "NV1 X NV2 NV1", "NV1 NV2 X NV2", "NV2 NV1 NV2 X"})),
              IsEmpty());
}

TEST(Nvlink, ASwitchedMatrixIsWhole) {
  EXPECT_THAT(judged(matrix({"X NV18 NV18 NV18", "NV18 X NV18 NV18", "NV18 NV18 X NV18",
                             "NV18 NV18 NV18 X"})),
              IsEmpty());
}

TEST(LostNvlink, ALoosePairIsCountedAgainstAWholeBridge) {
  const auto found = judged(matrix({"X NV3", "NV3 X"}));
  ASSERT_THAT(summary(found), ElementsAre("warning lost-nvlink GPU0-GPU1"));
  EXPECT_THAT(found[0].message, HasSubstr("3 of 4 NVLinks"));
  EXPECT_THAT(found[0].remedy, HasSubstr("Reseat"));
}

TEST(LostNvlink, AnAmpereWorkstationCardHasFourLinks) {
  Machine machine = matrix({"X NV2", "NV2 X"});
  EXPECT_THAT(judged(machine), IsEmpty());
  machine.gpus[0].sm = machine.gpus[1].sm = 86;
  EXPECT_THAT(judged(machine)[0].message, HasSubstr("2 of 4 NVLinks"));
}

TEST(LostNvlink, APairIsComparedWithTheOthers) {
  const auto found =
      judged(matrix({"X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV2", "SYS SYS NV2 X"}));
  ASSERT_THAT(summary(found), ElementsAre("warning lost-nvlink GPU2-GPU3"));
  EXPECT_THAT(found[0].message, HasSubstr("2 of 4 NVLinks: the other pairs have that many"));
}

TEST(LostNvlink, AGpuOfASwitchedMachineIsNamed) {
  Machine machine = hgx_h100();
  for (Link& link : machine.links) {
    if (link.from == DeviceId{DeviceKind::gpu, 5} && link.to == DeviceId{DeviceKind::nvswitch, 0})
      link.count -= 2;
  }
  const auto found = judged(machine);
  ASSERT_THAT(summary(found), ElementsAre("error lost-nvlink GPU5"));
  EXPECT_THAT(found[0].message, HasSubstr("GPU5 (0000:62:00.0) has 16 of 18 NVLinks"));
}

TEST(LostNvlink, AGpuOfASwitchedMatrixIsNamedNotItsPeers) {
  const auto found = judged(
      matrix({"X NV18 NV17 NV18", "NV18 X NV17 NV18", "NV17 NV17 X NV17", "NV18 NV18 NV17 X"}));
  EXPECT_THAT(summary(found), ElementsAre("error lost-nvlink GPU2"));
}

TEST(LostNvlink, BothEndsOfALinkOfACubeMeshAreNamed) {
  const std::vector<std::string> whole{
      "X NV2 NV2 NV1 NV1 SYS SYS SYS", "NV2 X NV1 NV2 SYS NV1 SYS SYS",
      "NV2 NV1 X NV1 SYS SYS NV2 SYS", "NV1 NV2 NV1 X SYS SYS SYS NV2",
      "NV1 SYS SYS SYS X NV2 NV2 NV1", "SYS NV1 SYS SYS NV2 X NV1 NV2",
      "SYS SYS NV2 SYS NV2 NV1 X NV1", "SYS SYS SYS NV2 NV1 NV2 NV1 X"};
  EXPECT_THAT(judged(matrix(whole)), IsEmpty());
  std::vector<std::string> hurt = whole;
  hurt[2] = "NV2 NV1 X NV1 SYS SYS NV1 SYS";
  hurt[6] = "SYS SYS NV1 SYS NV2 NV1 X NV1";
  const auto found = judged(matrix(hurt));
  ASSERT_THAT(summary(found), ElementsAre("error lost-nvlink GPU2", "error lost-nvlink GPU6"));
  EXPECT_THAT(found[0].message, HasSubstr("5 of 6"));
}

TEST(LostNvlink, ALinkToItselfIsNotCounted) {
  Machine machine = workstation();
  for (int i = 0; i < 4; ++i)
    machine.links.push_back({{DeviceKind::gpu, i}, {DeviceKind::gpu, i}, LinkKind::nvlink, 12, {}});
  machine.links.pop_back();
  EXPECT_THAT(judged(machine), IsEmpty());
}

TEST(LostNvlink, LinksThatLeadNowhereAreNotFollowed) {
  Machine machine = workstation();
  machine.links.push_back({{DeviceKind::gpu, 99}, {DeviceKind::gpu, -7}, LinkKind::nvlink, 4, {}});
  machine.links.push_back({{DeviceKind::gpu, 0}, {DeviceKind::gpu, 99}, LinkKind::nvlink, 4, {}});
  EXPECT_THAT(judged(machine), IsEmpty());
}

TEST(InactiveNvlink, PortsOfALoneGpuAreNamed) {
  Machine machine;
  machine.gpus.resize(1);
  machine.gpus[0].name = "Tesla V100-SXM2-32GB";
  machine.gpus[0].nvlinks = ports("111010");
  const auto found = judged(machine);
  ASSERT_THAT(summary(found), ElementsAre("error inactive-nvlink GPU0"));
  EXPECT_THAT(found[0].message, HasSubstr("4 of 6 NVLinks up: links 3 and 5 are inactive"));
  machine.gpus[0].name = "NVIDIA A100 80GB PCIe";
  EXPECT_THAT(summary(judged(machine)), ElementsAre("warning inactive-nvlink GPU0"));
}

TEST(InactiveNvlink, AGpuIsComparedWithItsPeers) {
  Machine machine;
  machine.gpus.resize(4);
  for (Gpu& gpu : machine.gpus) gpu.nvlinks = ports("111111110000");
  EXPECT_THAT(judged(machine), IsEmpty()) << "two of three bridges each, by design";
  machine.gpus[1].nvlinks = ports("111111100000");
  EXPECT_THAT(summary(judged(machine)), ElementsAre("error inactive-nvlink GPU1"));
  machine.system.virtual_machine = true;
  EXPECT_THAT(summary(judged(machine)), ElementsAre("warning inactive-nvlink GPU1"));
}

TEST(InactiveNvlink, NoneUpAnywhereIsNoFault) {
  Machine machine = workstation();
  for (Gpu& gpu : machine.gpus) gpu.nvlinks = ports("0000");
  EXPECT_THAT(judged(machine), IsEmpty());
}

TEST(MissingNvlink, AGpuWithoutAnyAmongPeersIsNamed) {
  Machine machine = hgx_h100();
  std::erase_if(machine.links, [](const Link& link) {
    return link.kind == LinkKind::nvlink && link.from == DeviceId{DeviceKind::gpu, 7};
  });
  EXPECT_THAT(summary(judged(machine)), ElementsAre("error missing-nvlink GPU7"));

  Machine by_ports;
  by_ports.gpus.resize(4);
  for (Gpu& gpu : by_ports.gpus) gpu.nvlinks = ports("111");
  by_ports.gpus[2].nvlinks = ports("000");
  EXPECT_THAT(summary(judged(by_ports)), ElementsAre("error missing-nvlink GPU2"));
}

TEST(MissingNvlink, AGpuOfAnotherKindNeedsNone) {
  Machine machine = hgx_h100();
  Gpu display;
  display.name = "NVIDIA T400";
  machine.gpus.push_back(display);
  EXPECT_THAT(judged(machine), IsEmpty());
}

TEST(DeadBridge, ThePairBesideABridgedOneIsNamed) {
  const auto found =
      judged(matrix({"X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NODE", "SYS SYS NODE X"}));
  ASSERT_THAT(summary(found), ElementsAre("warning dead-nvlink-bridge GPU2-GPU3"));
  EXPECT_EQ(found[0].message,
            "The pair GPU0 and GPU1 has 12 NVLinks, the pair GPU2 and GPU3 has none on the same "
            "kind of GPU.");
}

TEST(DeadBridge, OneGpuLeftOverIsNoPair) {
  EXPECT_THAT(judged(matrix({"X NV4 SYS", "NV4 X SYS", "SYS SYS X"})), IsEmpty());
  Machine apart = matrix({"X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X SYS", "SYS SYS SYS X"});
  apart.gpus[0].numa = apart.gpus[1].numa = apart.gpus[2].numa = 0;
  apart.gpus[3].numa = 1;
  EXPECT_THAT(judged(apart), IsEmpty()) << "no bridge reaches another socket";
}

TEST(DeadBridge, AContainerMayHoldHalvesOfPairs) {
  Machine machine =
      matrix({"X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NODE", "SYS SYS NODE X"});
  machine.system.container = true;
  EXPECT_THAT(summary(judged(machine)), ElementsAre("info dead-nvlink-bridge GPU2-GPU3"));
}

TEST(RefusedPeers, NvlinkThatTheDriverRefusesIsAnError) {
  Machine machine = matrix({"X NV4", "NV4 X"});
  machine.peers = {{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, 'r', "TNS"},
                   {{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, 'w', "TNS"}};
  EXPECT_THAT(summary(refused_peers(machine)), ElementsAre("error peer-access-refused GPU0-GPU1"));
}

TEST(RefusedPeers, WithoutNvlinkItIsAHint) {
  Machine machine = matrix({"X PHB", "PHB X"});
  machine.peers = {{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, 'r', "CNS"},
                   {{DeviceKind::gpu, 1}, {DeviceKind::gpu, 0}, 'r', "CNS"}};
  const auto found = refused_peers(machine);
  ASSERT_THAT(summary(found), ElementsAre("info no-peer-access GPU0-GPU1"));
  EXPECT_THAT(found[0].message, HasSubstr("the chipset does not support it"));
  machine.peers[0].status = machine.peers[1].status = "OK";
  EXPECT_THAT(refused_peers(machine), IsEmpty());
  machine.peers = {{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 9}, 'r', "CNS"}};
  EXPECT_THAT(refused_peers(machine), IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology::findings
