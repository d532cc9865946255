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
                        Field(&Finding::where, "NIC0"))));
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
  EXPECT_THAT(findings::shared_subnets(machine), testing::SizeIs(1));
  // Both may be of links of their own.
  machine.nics[1].gids = {gid("0000:0000:0000:0000:0000:ffff:0a00:004a", "ens1")};
  EXPECT_THAT(findings::shared_subnets(machine), IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology
