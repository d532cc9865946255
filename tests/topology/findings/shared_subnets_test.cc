#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/findings/rules.h"

namespace lockstep::topology {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// RoCE ports whose interfaces have these addresses, one each.
Machine ports(const std::vector<std::string>& addresses) {
  Machine machine;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Nic nic;
    nic.name = fmt::format("mlx5_{}", i);
    nic.kind = NicKind::roce;
    nic.netdev = fmt::format("ens{}", i);
    Interface interface;
    interface.name = nic.netdev;
    interface.addresses = {addresses[i]};
    machine.nics.push_back(nic);
    machine.interfaces.push_back(interface);
  }
  return machine;
}

Gid gid(const std::string& address, const std::string& netdev) {
  return {.index = 3, .address = address, .type = "RoCE v2", .netdev = netdev};
}

TEST(SharedSubnets, RailsOfOneSubnetAreNamed) {
  EXPECT_THAT(
      findings::shared_subnets(ports({"10.0.0.1/24", "10.0.1.1/24", "10.0.0.200/24"})),
      ElementsAre(AllOf(Field(&Finding::message, HasSubstr("NIC0 (mlx5_0) and NIC2 (mlx5_2)")),
                        Field(&Finding::message, HasSubstr("10.0.0.0/24")),
                        Field(&Finding::where, "NIC0, NIC2"))));
}

TEST(SharedSubnets, RailsOfTheirOwnHaveNoFindings) {
  EXPECT_THAT(findings::shared_subnets(ports({"10.0.0.0/31", "10.0.0.2/31", "10.0.0.4/31"})),
              IsEmpty());
  EXPECT_THAT(findings::shared_subnets(ports({"10.0.0.1/24", "10.0.1.1/24", "fe80::1/64"})),
              IsEmpty());
  EXPECT_THAT(findings::shared_subnets(ports({"10.0.0.1", "10.0.0.2/", "10.0.0.3/99"})), IsEmpty());
}

TEST(SharedSubnets, MembersOfABondAreOneInterface) {
  Machine machine = ports({"10.0.0.1/24", "10.0.0.1/24"});
  machine.nics[1].netdev = machine.nics[0].netdev;
  EXPECT_THAT(findings::shared_subnets(machine), IsEmpty());
}

TEST(SharedSubnets, GidsOfNeighboursAreOfOneSubnetWhateverItsLength) {
  Machine machine = ports({"", ""});
  machine.interfaces.clear();
  machine.nics[0].gids = {gid("0000:0000:0000:0000:0000:ffff:0a00:0048", "ens0")};
  machine.nics[1].gids = {gid("0000:0000:0000:0000:0000:ffff:0a00:0049", "ens1")};
  const auto found = findings::shared_subnets(machine);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("one subnet (10.0.0.72 and 10.0.0.73)"),
                                      testing::Not(HasSubstr("/31"))))
      << "a table of GIDs has no prefix lengths";
  // Both may be of links of their own.
  machine.nics[1].gids = {gid("0000:0000:0000:0000:0000:ffff:0a00:004a", "ens1")};
  EXPECT_THAT(findings::shared_subnets(machine), IsEmpty());
}

TEST(SharedSubnets, IsAHintWhereItIsNotKnownHowTheHostRoutes) {
  Machine machine = ports({"10.0.0.1/24", "10.0.0.2/24"});
  auto found = findings::shared_subnets(machine);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::info);
  EXPECT_THAT(found[0].message, HasSubstr("unless rules route by source address"));
  for (Interface& interface : machine.interfaces) interface.own_arp = true;
  EXPECT_EQ(findings::shared_subnets(machine)[0].severity, Severity::info);
}

TEST(SharedSubnets, IsAWarningWherePortsAnswerForEachOther) {
  Machine machine = ports({"10.0.0.1/24", "10.0.0.2/24"});
  for (Interface& interface : machine.interfaces) interface.own_arp = false;
  const auto found = findings::shared_subnets(machine);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_THAT(found[0].message, HasSubstr("arp_ignore=0"));
}

}  // namespace
}  // namespace lockstep::topology
