// Tiers and rails of fabrics, from their links.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/fabric_text.h"
#include "topology/fabric_shape.h"
#include "topology/readers/ibnetdiscover.h"

namespace lockstep::topology {
namespace {

using test::FabricText;
using test::two_rails;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Fabric fabric_of(const FabricText& text) {
  return *read_ibnetdiscover({"fabric.txt", text.text()}).fabric;
}

// "S-a0 0, S-b0 1": names and tiers.
std::string tiers(const Fabric& fabric) {
  std::string text;
  for (const FabricSwitch& node : fabric.switches)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", node.name, node.tier);
  return text;
}

// "mlx5_0: a0 | mlx5_1: a1": devices and leaves.
std::string rails(const Fabric& fabric) {
  std::string text;
  for (const Rail& rail : fabric.rails) {
    text += fmt::format("{}{}:", text.empty() ? "" : " | ", rail.device);
    for (const std::string& leaf : rail.switches) text += " " + leaf;
  }
  return text;
}

TEST(FabricShape, LeavesCarryAdaptersAndSpinesStandAbove) {
  const Fabric fabric = fabric_of(two_rails(4));
  EXPECT_EQ(tiers(fabric), "S-a0 0, S-a1 0, S-b0 1, S-b1 1");
  EXPECT_EQ(fabric.tiers, 2);
}

TEST(FabricShape, ACoreIsATierOfItsOwn) {
  FabricText text = two_rails(2);
  text.link("S-b0", "S-c0").link("S-b1", "S-c0");
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(tiers(fabric), "S-a0 0, S-a1 0, S-b0 1, S-b1 1, S-c0 2");
  EXPECT_EQ(fabric.tiers, 3);
}

TEST(FabricShape, AggregationNodesMakeNoLeafAndNoRail) {
  FabricText text = two_rails(2);
  for (const char* node : {"S-a0", "S-a1", "S-b0", "S-b1"}) {
    const std::string id = fmt::format("H-{:x}", 0x9000 + static_cast<int>(node[2]) * 2 + node[3]);
    text.describe(id, "Mellanox Technologies Aggregation Node").link(node, id);
  }
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(tiers(fabric), "S-a0 0, S-a1 0, S-b0 1, S-b1 1");
  ASSERT_THAT(fabric.rails, SizeIs(2));
  EXPECT_THAT(fabric.rails[0].adapters, ElementsAre("0000", "0010"));
}

TEST(FabricShape, AForestIsAccepted) {
  FabricText text = two_rails(2);
  text.describe("H-ff01", "other1 mlx5_0").describe("H-ff02", "other2 mlx5_0");
  text.link("S-z0", "H-ff01").link("S-z0", "H-ff02");
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(tiers(fabric), "S-a0 0, S-a1 0, S-b0 1, S-b1 1, S-z0 0");
}

TEST(FabricShape, ASwitchThatNoAdapterReachesHasNoTier) {
  FabricText text = two_rails(2);
  text.link("S-y0", "S-y1");
  EXPECT_EQ(tiers(fabric_of(text)), "S-a0 0, S-a1 0, S-b0 1, S-b1 1, S-y0 -1, S-y1 -1");
}

TEST(FabricShape, ALinkThatOneEndStatesCounts) {
  Fabric fabric;
  fabric.switches = {{.guid = "s", .name = "leaf", .tier = 0, .ports = {{1, "h", 1, 400}}},
                     {.guid = "t", .name = "spine", .tier = 0, .ports = {{1, "s", 2, 400}}}};
  fabric.adapters.resize(1);
  fabric.adapters[0].guid = "h";
  const FabricShape shape = shape_of(fabric);
  EXPECT_THAT(shape.tier, ElementsAre(0, 1));
  EXPECT_EQ(shape.tiers, 2);
}

TEST(FabricRails, AreTheLeavesOfOneDevice) {
  EXPECT_EQ(rails(fabric_of(two_rails(4))), "mlx5_0: a0 | mlx5_1: a1");
}

TEST(FabricRails, SpanUnitsAndTheTwoNamesOfADevice) {
  FabricText text = two_rails(4);
  for (int device = 0; device < 2; ++device) {
    for (int host = 0; host < 3; ++host) {
      const std::string id = fmt::format("H-{:x}", 0x100 + 16 * host + device);
      text.describe(id, fmt::format("late{} HCA-{}", host, device + 1));
      text.link(fmt::format("S-a{}", 8 + device), id);
    }
  }
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(rails(fabric), "mlx5_0: a0 a8 | mlx5_1: a1 a9");
  EXPECT_THAT(fabric.rails[1].adapters, SizeIs(7));
}

TEST(FabricRails, AreCountedAsPeopleDo) {
  FabricText text;
  for (const int device : {2, 10}) {
    for (int host = 0; host < 2; ++host) {
      const std::string id = fmt::format("H-{:x}", 0x100 * device + host);
      text.describe(id, fmt::format("node{} mlx5_{}", host, device));
      text.link(fmt::format("S-{:x}", device), id);
    }
  }
  EXPECT_EQ(rails(fabric_of(text)), "mlx5_2: 2 | mlx5_10: a");
}

TEST(FabricRails, AStrayAdapterBelongsToNone) {
  FabricText text = two_rails(4);
  text.describe("H-dd01", "stray mlx5_1").link("S-a0", "H-dd01");
  text.describe("H-dd02", "MT4129 ConnectX7   Mellanox Technologies").link("S-a0", "H-dd02");
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(rails(fabric), "mlx5_0: a0 | mlx5_1: a1");
  EXPECT_THAT(fabric.rails[0].adapters, ElementsAre("0000", "0010", "0020", "0030"));
}

TEST(FabricRails, ThereAreNoneWhereAHostsAdaptersShareALeaf) {
  FabricText text;
  for (int host = 0; host < 4; ++host) {
    for (int device = 0; device < 2; ++device) {
      const std::string id = fmt::format("H-{:x}", 16 * host + device + 256);
      text.describe(id, fmt::format("node{} mlx5_{}", host, device));
      text.link(fmt::format("S-a{}", host / 2), id);
    }
  }
  EXPECT_THAT(fabric_of(text).rails, IsEmpty());
}

TEST(FabricRails, PortsOfOneCardAreRailsOfTheirOwn) {
  FabricText text;
  for (int host = 0; host < 3; ++host) {
    const std::string id = fmt::format("H-{:x}", 256 + host);
    text.describe(id, "ConnectX-4 VPI adapter card");
    text.link("S-a0", id).link("S-a1", id);
  }
  EXPECT_EQ(rails(fabric_of(text)), ": a0 | : a1");
}

TEST(FabricRails, HostsWithoutDeviceNamesShowThemByTheirLeaves) {
  FabricText text;
  for (int host = 0; host < 4; ++host) {
    for (int leaf = 0; leaf < 2; ++leaf) {
      const std::string id = fmt::format("H-{:x}", 256 + 16 * host + leaf);
      text.describe(id, fmt::format("node{}", host));
      text.link(fmt::format("S-a{}", 2 * (host / 2) + leaf), id);
    }
  }
  const Fabric fabric = fabric_of(text);
  EXPECT_EQ(rails(fabric), ": a0 | : a1 | : a2 | : a3");
  EXPECT_THAT(fabric.rails[3].adapters, ElementsAre("121", "131"));
}

}  // namespace
}  // namespace lockstep::topology
