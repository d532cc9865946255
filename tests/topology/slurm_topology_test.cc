// Slurm's topology.conf.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Reading read_slurm(const std::string& text) {
  return read_recording({"topology.conf", text});
}

std::string slurm_refusal(const std::string& text) {
  try {
    (void)read_slurm(text);
  } catch (const ReadError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(SlurmTopology, ATreeHasTheTiersThatItStates) {
  const Reading reading = read_slurm(
      "# two halls\n"
      "SwitchName=root Switches=hall[1-2]\n"
      "switchname=hall1 switches=leaf[1-2]   LinkSpeed=100\n"
      "SwitchName = hall2 Nodes=node[05-06] # a leaf itself\n"
      "SwitchName=leaf1 Nodes=\"node[01-02]\"\r\n"
      "SwitchName=leaf2 \\\n  Nodes=node03,node04\n");
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  const Fabric& fabric = *reading.fabric;
  std::string tiers;
  for (const FabricSwitch& node : fabric.switches)
    tiers += fmt::format("{} {} ", node.name, node.tier);
  EXPECT_EQ(tiers, "root 2 hall1 1 hall2 0 leaf1 0 leaf2 0 ");
  EXPECT_EQ(fabric.tiers, 3);
  ASSERT_THAT(fabric.adapters, SizeIs(6));
  EXPECT_EQ(fabric.adapters[5].host, "node04");
  EXPECT_EQ(fabric.adapters[5].guid, "");
  EXPECT_EQ(fabric.adapters[5].ports[0].peer, "leaf2");
  EXPECT_THAT(fabric.switches[1].ports, SizeIs(3));  // two below, one above
}

TEST(SlurmTopology, AForestIsAccepted) {
  const Reading reading = read_slurm(
      "SwitchName=spine1 Switches=leaf1\nSwitchName=leaf1 Nodes=a[1-4]\nSwitchName=leaf2 "
      "Nodes=b[1-4]\n");
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_EQ(reading.fabric->tiers, 2);
  EXPECT_THAT(reading.fabric->adapters, SizeIs(8));
}

TEST(SlurmTopology, AHostMayHangOffSeveralLeaves) {
  const Reading reading = read_slurm("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]\n");
  ASSERT_THAT(reading.fabric->adapters, SizeIs(3));
  EXPECT_THAT(reading.fabric->adapters[1].ports, SizeIs(2));
}

TEST(SlurmTopology, BlocksAreListsOfHosts) {
  const Reading reading =
      read_slurm("BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\nBlockSizes=4,8\n");
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_THAT(reading.fabric->blocks, ElementsAre(ElementsAre("n01", "n02", "n03", "n04"),
                                                  ElementsAre("n05", "n06", "n07", "n08")));
  EXPECT_THAT(reading.fabric->block_sizes, ElementsAre(4, 8));
}

TEST(SlurmTopology, BlockSizesAreChecked) {
  const std::string blocks = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[04-05]\n";
  const auto findings = read_slurm(blocks + "BlockSizes=4,12\n").machine.findings;
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_EQ(findings[0].message, "BlockSizes=4,12: 12 is not a larger power of two times 4");
  EXPECT_EQ(findings[0].where, "topology.conf:3");
  EXPECT_EQ(findings[1].message, "block b2 has 2 hosts, fewer than the base size 4");
  EXPECT_EQ(findings[2].message, "host n04 is in block b1 and in block b2");
  EXPECT_EQ(read_slurm("BlockName=b Nodes=n[1-8]\nBlockSizes=8,4\n").machine.findings[0].code,
            "bad-block-size");
  for (const char* sizes : {"4,", "x", "0", "-4", "4,99999999999"}) {
    EXPECT_THAT(slurm_refusal(fmt::format("{}BlockSizes={}\n", blocks, sizes)),
                StartsWith("topology.conf:3: BlockSizes: expected numbers of hosts"))
        << sizes;
  }
}

TEST(SlurmTopology, DamageIsRefusedWithItsLine) {
  EXPECT_THAT(slurm_refusal("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
              StartsWith("topology.conf:1: switch a is above itself"));
  EXPECT_THAT(slurm_refusal("SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n"),
              StartsWith("topology.conf:3: switch a stands a second time, first in line 1"));
  EXPECT_EQ(slurm_refusal("SwitchName=a\n"),
            "topology.conf:1: switch a: expected Switches= or Nodes=, found neither");
  EXPECT_THAT(slurm_refusal("SwitchName=a Nodes=n[1-\n"),
              StartsWith("topology.conf:1: nodes: expected"));
  EXPECT_THAT(slurm_refusal("SwitchName=a Nodes=n[0-99999999]\n"),
              StartsWith("topology.conf:1: nodes: a list of more than"));
  std::string bombs;
  for (int i = 0; i < 10; ++i)
    bombs += fmt::format("SwitchName=s{0} Nodes=n{0}[1-50000],m{0}[1-50000]\n", i);
  EXPECT_THAT(slurm_refusal(bombs), StartsWith("topology.conf:3: nodes: a list of more than"));
  EXPECT_THAT(slurm_refusal(fmt::format("SwitchName=a Nodes={}\n", std::string(1 << 17, 'n'))),
              StartsWith("topology.conf:1: a line of more than 65536 bytes"));
}

TEST(SlurmTopology, WhatIsMissingIsNamed) {
  const auto findings =
      read_slurm("SwitchName=root Switches=a,b\nSwitchName=a Nodes=n1\nInclude more.conf\n")
          .machine.findings;
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].code, "unread-line");
  EXPECT_EQ(findings[0].where, "topology.conf:3");
  EXPECT_EQ(findings[1].code, "undefined-switch");
  EXPECT_THAT(findings[1].message, HasSubstr("root lists b below it"));
}

}  // namespace
}  // namespace lockstep::topology
