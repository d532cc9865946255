// Whether rails reach each other, and fabrics that were read rail by rail.
#include "topology/advice/rail_facts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/fabric_text.h"
#include "topology/fabric_join.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::SizeIs;

Fabric read(const test::FabricText& text) {
  return read_recording({"fabric.txt", text.text()}).fabric.value();
}

// `hosts` hosts with mlx5_`device` on a leaf of its own.
test::FabricText one_rail(int device, int hosts) {
  test::FabricText fabric;
  for (int host = 0; host < hosts; ++host) {
    const std::string id = fmt::format("H-{:04x}", 16 * host + device);
    fabric.describe(id, fmt::format("node{:02} mlx5_{}", host, device));
    fabric.link(fmt::format("S-a{}", device), id);
  }
  return fabric;
}

Machine host_of(NicKind kind) {
  Machine machine;
  machine.nics.resize(2);
  for (Nic& nic : machine.nics) nic.kind = kind;
  return machine;
}

TEST(RailFacts, SpinesJoinRails) {
  const RailFacts facts =
      rail_facts(read(test::two_rails(4)), host_of(NicKind::infiniband), "fabric.txt");
  EXPECT_EQ(facts.connection, RailConnection::connected);
  EXPECT_EQ(facts.evidence,
            "fabric.txt: 2 rails (mlx5_0, mlx5_1) on 2 leaf switches, and links join them");
}

TEST(RailFacts, LeavesWithoutAWayBetweenThemAreApart) {
  const Fabric fabric = joined(read(one_rail(0, 4)), read(one_rail(1, 4)));
  const RailFacts facts = rail_facts(fabric, host_of(NicKind::infiniband), "two files");
  EXPECT_EQ(facts.connection, RailConnection::isolated);
  EXPECT_EQ(facts.evidence,
            "two files: 2 rails (mlx5_0, mlx5_1) on 2 leaf switches, and no link "
            "joins one to another");
}

TEST(RailFacts, ASpineThatIsNotInTheFileJoinsRailsAllTheSame) {
  Fabric fabric = read(test::two_rails(4));
  std::erase_if(fabric.switches, [](const FabricSwitch& one) { return one.tier > 0; });
  EXPECT_EQ(rail_facts(fabric, host_of(NicKind::unknown), "f").connection,
            RailConnection::connected);
}

TEST(RailFacts, OfOneRailOrAnotherKindOfNetworkNothingIsKnown) {
  EXPECT_EQ(rail_facts(read(one_rail(0, 4)), host_of(NicKind::infiniband), "f").connection,
            RailConnection::unknown);
  EXPECT_EQ(rail_facts(read(test::two_rails(4)), host_of(NicKind::roce), "f").connection,
            RailConnection::unknown);
  EXPECT_EQ(rail_facts(Fabric{}, Machine{}, "f").connection, RailConnection::unknown);
}

TEST(FabricJoin, ANodeOfBothHasThePortsOfBoth) {
  const Fabric whole = read(test::two_rails(3));
  ASSERT_TRUE(has_guids(whole));
  EXPECT_EQ(joined(whole, whole), whole);
  const Fabric both = joined(read(one_rail(0, 3)), read(one_rail(1, 3)));
  EXPECT_THAT(both.switches, SizeIs(2));
  EXPECT_THAT(both.adapters, SizeIs(6));
  EXPECT_THAT(both.rails, SizeIs(2));
  EXPECT_EQ(both.tiers, 1);
}

}  // namespace
}  // namespace lockstep::topology
