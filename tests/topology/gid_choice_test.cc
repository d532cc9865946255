// GID tables: how they are read, which entry NCCL takes and which one is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/gid_address.h"
#include "topology/gid_choice.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLinkLocal = "fe80:0000:0000:0000:0a42:a1ff:fe00:0001";
constexpr const char* kRail = "0000:0000:0000:0000:0000:ffff:0a01:0203";
constexpr const char* kVlan = "0000:0000:0000:0000:0000:ffff:0a02:0203";
constexpr const char* kGlobal = "fd00:0000:0000:0001:0a42:a1ff:fe00:0001";

Gid gid(int index, std::string address, std::string type, std::string netdev = "") {
  return {.index = index,
          .address = std::move(address),
          .type = std::move(type),
          .netdev = std::move(netdev)};
}

Nic roce(std::vector<Gid> gids) {
  Nic nic;
  nic.name = "mlx5_0";
  nic.kind = NicKind::roce;
  nic.gids = std::move(gids);
  return nic;
}

GidChoice expected(std::optional<int> by_nccl, std::optional<int> right,
                   std::vector<int> duplicates = {}) {
  return {.by_nccl = by_nccl, .right = right, .duplicates = std::move(duplicates)};
}

std::vector<Gid> usual_table(const std::string& netdev) {
  return {gid(0, kLinkLocal, "RoCE v1", netdev), gid(1, kLinkLocal, "RoCE v2", netdev),
          gid(2, kRail, "RoCE v1", netdev), gid(3, kRail, "RoCE v2", netdev)};
}

TEST(GidAddress, IsReadInEveryForm) {
  EXPECT_EQ(to_string(*parse_gid_address("::ffff:10.1.2.3")), kRail);
  EXPECT_EQ(to_string(*parse_gid_address("fe80::a42:a1ff:fe00:1")), kLinkLocal);
  EXPECT_EQ(to_string(*parse_gid_address(kGlobal)), kGlobal);
  for (const char* text : {"", "fe80", "fe80::1::2", "fe80::1/64", "10.0.0.1", "unknown",
                           "0000:0000:0000:0000:0000:ffff:0a01:02031234567890123456789"}) {
    EXPECT_EQ(parse_gid_address(text), std::nullopt) << text;
  }
  EXPECT_EQ(family_of(*parse_gid_address(kRail)), AddressFamily::ipv4);
  EXPECT_EQ(family_of(*parse_gid_address(kLinkLocal)), AddressFamily::ipv6);
  EXPECT_TRUE(is_link_local(*parse_gid_address(kLinkLocal)));
  EXPECT_FALSE(is_configured(*parse_gid_address("::")));
  EXPECT_FALSE(is_configured(*parse_gid_address("fe80::")));
  EXPECT_TRUE(is_configured(*parse_gid_address(kRail)));
}

TEST(GidChoice, IsTheFirstRoutableOneOfVersionTwo) {
  EXPECT_EQ(choose_gid(roce(usual_table("ens1"))), expected(3, 3));
}

TEST(GidChoice, PrefersTheAdaptersOwnInterfaceWhereNcclTakesTheFirst) {
  std::vector<Gid> table = usual_table("vxlan100");
  table[0].netdev = table[1].netdev = "bond1";
  table.push_back(gid(4, kRail, "RoCE v1", "bond1"));
  table.push_back(gid(5, kRail, "RoCE v2", "bond1"));
  EXPECT_EQ(choose_gid(roce(table)), expected(3, 5, {3}));

  Nic named = roce(table);
  named.netdev = "bond1";
  EXPECT_EQ(choose_gid(named), expected(3, 5, {3}));
  // What names no owner of any entry does not help: a bond's member.
  named.netdev = "enp1s0f0np0";
  EXPECT_EQ(choose_gid(named), expected(3, 5, {3}));
}

TEST(GidChoice, AVlanOfAnotherAddressIsNoDuplicate) {
  std::vector<Gid> table = usual_table("ens1");
  table.insert(table.begin() + 2, gid(4, kVlan, "RoCE v2", "ens1.100"));
  EXPECT_EQ(choose_gid(roce(table)), expected(3, 3));
}

TEST(GidChoice, ReadsTheTableInTheOrderOfIndices) {
  std::vector<Gid> table = usual_table("ens1");
  std::ranges::reverse(table);
  EXPECT_EQ(choose_gid(roce(table)), expected(3, 3));
}

TEST(GidChoice, EntriesOfOtherNamespacesAreSkipped) {
  std::vector<Gid> table = usual_table("eth0");
  for (Gid& entry : table) entry.index += 12;
  EXPECT_EQ(choose_gid(roce(table)), expected(15, 15));

  table = usual_table("ens1");
  for (Gid& entry : table) entry.readable = false;
  table.push_back(gid(6, kVlan, "RoCE v1", "net1"));
  table.push_back(gid(7, kVlan, "RoCE v2", "net1"));
  EXPECT_EQ(choose_gid(roce(table)), expected(7, 7));
}

TEST(GidChoice, WithoutAnAddressOfTheFamilyNoneIsRightAndNcclStaysAtTheFirst) {
  const Nic nic =
      roce({gid(0, kLinkLocal, "RoCE v1", "ens1"), gid(1, kLinkLocal, "RoCE v2", "ens1"),
            gid(2, kGlobal, "RoCE v1", "ens1"), gid(3, kGlobal, "RoCE v2", "ens1")});
  EXPECT_EQ(choose_gid(nic), expected(0, std::nullopt));
  EXPECT_EQ(choose_gid(nic, {.family = AddressFamily::ipv6, .roce_version = 2}), expected(3, 3));
}

TEST(GidChoice, NcclTakesAnAddressOfTheFamilyEvenOfTheWrongVersion) {
  EXPECT_EQ(choose_gid(roce({gid(0, kLinkLocal, "RoCE v1"), gid(2, kRail, "RoCE v1")})),
            expected(2, std::nullopt));
  EXPECT_EQ(
      choose_gid(roce(usual_table("ens1")), {.family = AddressFamily::ipv4, .roce_version = 1}),
      expected(2, 2));
}

TEST(GidChoice, InfinibandHasNone) {
  Nic nic = roce(usual_table("ens1"));
  nic.kind = NicKind::infiniband;
  EXPECT_EQ(choose_gid(nic), GidChoice{});
  nic.kind = NicKind::efa;
  EXPECT_EQ(choose_gid(nic), GidChoice{});
}

TEST(GidChoice, OfATableThatDoesNotSayEnoughIsNone) {
  EXPECT_EQ(choose_gid(roce({})), GidChoice{});
  EXPECT_EQ(choose_gid(roce({gid(0, kLinkLocal, ""), gid(1, kRail, "")})), GidChoice{});
  EXPECT_EQ(choose_gid(roce({gid(0, "garbage", "RoCE v2")})), GidChoice{});
}

constexpr const char* kGidHeader =
    "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n"
    "---     ----    -----   ---                                     ------------    ---     ---\n";

TEST(ShowGids, ReadsRowsWithAndWithoutAnIpv4Address) {
  const Machine machine =
      read_recording(
          {"gids.txt",
           std::string("[root@node1 ~]# show_gids | cat\n") + kGidHeader +
               "mlx5_1\t1\t0\tfe80:0000:0000:0000:0a42:a1ff:fe00:0001\t\t\tv1\tens1np0\n"
               "mlx5_0\t2\t3\t0000:0000:0000:0000:0000:ffff:0a01:0203\t10.1.2.3 \tv2\tens0\n"
               "n_gids_found=2\n"})
          .machine;
  ASSERT_THAT(machine.nics, SizeIs(2));
  EXPECT_EQ(machine.nics[0].name, "mlx5_0");
  EXPECT_EQ(machine.nics[0].port, 2);
  ASSERT_THAT(machine.nics[0].gids, SizeIs(1));
  EXPECT_EQ(machine.nics[0].gids[0].index, 3);
  EXPECT_EQ(machine.nics[0].gids[0].type, "RoCE v2");
  EXPECT_EQ(machine.nics[0].gids[0].netdev, "ens0");
  EXPECT_EQ(machine.nics[0].netdev, "");
  EXPECT_EQ(machine.nics[1].netdev, "ens1np0");
  EXPECT_EQ(machine.nics[1].kind, NicKind::roce);
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(ShowGids, InfinibandIsNotTakenForRoceVersionOne) {
  const Machine machine =
      read_recording({"gids.txt", std::string(kGidHeader) +
                                      "mlx5_0 1 0 fe80:0000:0000:0000:0a42:a103:0000:0001  v1\n"})
          .machine;
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_EQ(machine.nics[0].kind, NicKind::unknown);
  EXPECT_EQ(machine.nics[0].gids[0].type, "");
  EXPECT_EQ(choose_gid(machine.nics[0]), GidChoice{});
}

TEST(ShowGids, RowsThatAreCutAreSaid) {
  const Machine machine =
      read_recording({"gids.txt", std::string(kGidHeader) +
                                      "mlx5_0 1 1 fe80:0000:0000:0000:0a42:a1ff:fe00:0001 v2 ens1\n"
                                      "mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a01:0203 10.1.2\n"
                                      "mlx5_0 1 4 0000:0000:00\nmlx5_0 1 99999 ::1 v1 ens1\n"})
          .machine;
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_THAT(machine.nics[0].gids, SizeIs(2));
  ASSERT_THAT(machine.findings, SizeIs(3));
  EXPECT_EQ(machine.findings[0].where, "gids.txt:4");
}

TEST(Acceptance, T04_GidOfAPlainTableIsThree) {
  const auto recording = test::corpus("ib/roce-4gid.ibv_devinfo.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const Machine machine = read_recording(*recording).machine;
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_THAT(machine.nics[0].gids, SizeIs(4));
  EXPECT_EQ(choose_gid(machine.nics[0]), expected(3, 3));
}

TEST(Acceptance, T04_GidOfTheAdaptersOwnInterfaceWinsOverItsDuplicate) {
  const auto recording = test::corpus("ib/vxlan-bond-same-ip.show_gids.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const Machine machine = read_recording(*recording).machine;
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_EQ(machine.nics[0].netdev, "bond1");
  EXPECT_EQ(choose_gid(machine.nics[0]), expected(3, 5, {3}));
}

TEST(Acceptance, T04_GidsOfOtherNamespacesAreSkipped) {
  auto recording = test::corpus("ib/shared-docker.show_gids.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  // The recording ends before the row of version 2, which is the right one.
  EXPECT_EQ(choose_gid(read_recording(*recording).machine.nics.at(0)), expected(12, std::nullopt));
  recording->text +=
      "mlx5_bond_0     1       13      0000:0000:0000:0000:0000:ffff:c0a8:bc16 192.168.188.22  v2  "
      "eth0\n";
  EXPECT_EQ(choose_gid(read_recording(*recording).machine.nics.at(0)), expected(13, 13));
}

TEST(Acceptance, T04_GidOfEveryRailIsThree) {
  const auto recording = test::corpus("ib/roce-3hca.show_gids.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const Machine machine = read_recording(*recording).machine;
  ASSERT_THAT(machine.nics, SizeIs(2));
  EXPECT_THAT(machine.findings, IsEmpty());
  for (const Nic& nic : machine.nics) EXPECT_EQ(choose_gid(nic), expected(3, 3)) << nic.name;
  EXPECT_EQ(machine.nics[1].netdev, "ens2np0");
}

TEST(Acceptance, T04_InfinibandHasNoGidToChoose) {
  const auto recording = test::corpus("ib/ibv_devinfo-cx7-dell-2hca.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  for (const Nic& nic : read_recording(*recording).machine.nics)
    EXPECT_EQ(choose_gid(nic), GidChoice{}) << nic.name;
}

}  // namespace
}  // namespace lockstep::topology
