#include "topology/readers/sysfs_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/readers/snapshot_tree.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kSnapshot = R"(D host7
D host7/sys/bus/pci/devices
L host7/sys/bus/pci/devices/10000:00:02.0 -> ../../../devices/pci10000:00/10000:00:02.0/
L host7/sys/bus/pci/devices/10000:01:00.0 -> ../../../devices/pci10000:00/10000:00:02.0/10000:01:00.0
F host7/sys/devices/pci10000:00/10000:00:02.0/class = '0x060400\n'
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/class = '0x020700'
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/vendor = '0x15b3'
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/device = '0x1021'
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/numa_node = '1'
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/infiniband/mlx5_0/ports/1/state = "4: ACTIVE"
F host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/infiniband/mlx5_0/ports/1/link_layer = 'InfiniBand'
L host7/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/infiniband/mlx5_0/device -> ../../../10000:01:00.0
L host7/sys/class/infiniband/mlx5_0 -> ../../devices/pci10000:00/10000:00:02.0/10000:01:00.0/infiniband/mlx5_0
F host7/sys/devices/system/node/node0/cpulist = '0-1'
F host7/sys/devices/system/node/node1/cpulist = '2-3'
B host7/proc/cpuinfo 1732 bytes omitted
)";

Machine read_snapshot(std::string_view text) {
  return read_sysfs_snapshot({.name = "host7.txt", .text = std::string(text)}).machine;
}

TEST(SnapshotTree, LinksAreFollowedAndFoldersListed) {
  const SnapshotTree tree(kSnapshot);
  EXPECT_THAT(tree.list("/sys/bus/pci/devices"), ElementsAre("10000:00:02.0", "10000:01:00.0"));
  EXPECT_EQ(tree.real_path("/sys/class/infiniband/mlx5_0/device"),
            "/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0");
  EXPECT_EQ(tree.read("/sys/bus/pci/devices/10000:00:02.0/class", 100).text, "0x060400\n");
  EXPECT_EQ(tree.read("/sys/bus/pci/devices/10000:00:02.0/class", 4).text, "0x06");
  EXPECT_EQ(tree.read("/proc/cpuinfo", 100).status, FileStatus::refused);
  EXPECT_EQ(tree.read("/sys/nothing", 100).status, FileStatus::absent);
  EXPECT_FALSE(tree.exists("/sys/bus/pci/dev")) << "part of a name is no folder";
  EXPECT_EQ(tree.damaged_lines(), 0);
}

TEST(SnapshotTree, QuotedTextIsPythons) {
  const SnapshotTree tree("F sys/a = 'one\\ttwo\\\\ \\x41\\u00e9'\nF sys/b = \"it's\"\n");
  EXPECT_EQ(tree.read("/sys/a", 100).text, "one\ttwo\\ A\xc3\xa9");
  EXPECT_EQ(tree.read("/sys/b", 100).text, "it's");
}

TEST(SnapshotTree, LinksInACircleLeadNowhere) {
  const SnapshotTree tree(
      "L sys/a -> b\nL sys/b -> a\nL sys/c -> ../../../../../sys/d\nF sys/d = '1'\n");
  EXPECT_EQ(tree.real_path("/sys/a"), std::nullopt);
  EXPECT_FALSE(tree.exists("/sys/a/x"));
  EXPECT_EQ(tree.read("/sys/c", 10).text, "1") << "above the root is the root";
}

TEST(SysfsSnapshot, IsReadAsTheLiveHostIs) {
  const Machine machine = read_snapshot(kSnapshot);
  EXPECT_THAT(machine.sources, ElementsAre("sysfs-snapshot"));
  ASSERT_THAT(machine.numa, SizeIs(2));
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_EQ(to_string(*machine.nics[0].pci.address), "10000:01:00.0");
  EXPECT_EQ(machine.nics[0].numa, 1);
  EXPECT_EQ(machine.nics[0].state, NicState::active);
}

TEST(SysfsSnapshot, DamagedLinesAreCountedAndTheRestIsRead) {
  const Machine machine =
      read_snapshot("\x01\xff garbage\n" + std::string(kSnapshot) + "F host7/sys/cut = ");
  EXPECT_THAT(machine.nics, SizeIs(1));
  EXPECT_THAT(machine.findings, Contains(testing::AllOf(Field(&Finding::code, "damaged-recording"),
                                                        Field(&Finding::where, "host7.txt:1"))));
}

TEST(SysfsSnapshot, WhatHasNoEntryIsRefused) {
  EXPECT_FALSE(is_sysfs_snapshot("GPU0 GPU1\n"));
  EXPECT_TRUE(is_sysfs_snapshot("\n# recorded\r\nF h/sys/x = '1'\r\n"));
  EXPECT_THROW((void)read_snapshot("nothing\n"), ReadError);
}

TEST(SysfsSnapshot, EveryCutOfARecordingIsReadOrRefused) {
  for (std::size_t length = 0; length < kSnapshot.size(); length += 7) {
    try {
      EXPECT_LE(read_snapshot(kSnapshot.substr(0, length)).nics.size(), 1);
    } catch (const ReadError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("host7.txt"));
    }
  }
}

}  // namespace
}  // namespace lockstep::topology
