// What NVML adds to the GPUs that the bus shows; the library is a stand-in built beside the test.
#include "topology/probe/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/built_tree.h"
#include "topology/probe/probe.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr DeviceId kFirstGpu{DeviceKind::gpu, 0};
constexpr DeviceId kGpu1{DeviceKind::gpu, 1};

Machine two_gpus(const std::string& library) {
  test::BuiltTree tree;
  test::build_server(tree);
  test::add_function(tree, {.parent = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0",
                            .address = "0000:05:00.0",
                            .class_code = "0x030200",
                            .vendor = "0x10de",
                            .device = "0x2330",
                            .numa = 1});
  return probe({.root = tree.root(),
                .environment = Environment(),
                .home = "/root",
                .nvml_library = library});
}

TEST(Nvml, GpusAreMatchedByAddressNotByOrder) {
  const Machine machine = two_gpus(LOCKSTEP_NVML_STAND_IN);
  ASSERT_THAT(machine.gpus, SizeIs(2));
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-1");
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-0");
  EXPECT_EQ(machine.gpus[1].name, "Stand-in 0");
  EXPECT_EQ(machine.gpus[1].memory, std::uint64_t{80} << 30);
  EXPECT_EQ(machine.gpus[1].sm, 90);
  EXPECT_EQ(machine.system.gpu_driver, "555.42.06");
}

TEST(Nvml, PortsAreReadAndActiveOnesMakeLinks) {
  const Machine machine = two_gpus(LOCKSTEP_NVML_STAND_IN);
  ASSERT_THAT(machine.gpus.at(0).nvlinks, SizeIs(4));
  EXPECT_EQ(to_string(*machine.gpus[0].nvlinks[0].remote), "0000:05:00.0");
  EXPECT_EQ(machine.gpus[0].nvlinks[0].remote_kind, "GPU");
  EXPECT_EQ(machine.gpus[0].nvlinks[2].remote_kind, "Switch");
  EXPECT_FALSE(machine.gpus[0].nvlinks[3].active);
  EXPECT_THAT(machine.nvswitches, SizeIs(1)) << "one stands for all that the bus hides";
  const auto link = [](DeviceId from, DeviceId to, int count) {
    return Link{.from = from, .to = to, .kind = LinkKind::nvlink, .count = count, .GBps = {}};
  };
  EXPECT_THAT(machine.links, Contains(link(kFirstGpu, kGpu1, 2)));
  EXPECT_THAT(machine.links, Contains(link(kFirstGpu, {DeviceKind::nvswitch, 0}, 1)));
  EXPECT_THAT(machine.links, Contains(link(kGpu1, {DeviceKind::nvswitch, 0}, 1)));
}

TEST(Nvml, ChipToChipLinksLeadToTheGpusNode) {
  const Machine machine = two_gpus(LOCKSTEP_NVML_STAND_IN);
  const auto link = std::ranges::find(machine.links, LinkKind::c2c, &Link::kind);
  ASSERT_NE(link, machine.links.end());
  EXPECT_EQ(link->from, kGpu1);
  EXPECT_EQ(link->to, (DeviceId{DeviceKind::numa, 1}));
  EXPECT_EQ(link->count, 10);
  EXPECT_DOUBLE_EQ(*link->GBps, 447.12);
}

TEST(Nvml, PeerStatusHasNvidiaSmisWords) {
  const Machine machine = two_gpus(LOCKSTEP_NVML_STAND_IN);
  EXPECT_THAT(machine.peers, SizeIs(4));
  EXPECT_THAT(machine.peers, Contains(PeerStatus{kFirstGpu, kGpu1, 'r', "OK"}));
  EXPECT_THAT(machine.peers, Contains(PeerStatus{kGpu1, kFirstGpu, 'w', "CNS"}));
}

TEST(Nvml, WithoutTheLibraryTheBusIsStillShown) {
  const Machine machine = two_gpus("/nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(machine.gpus, SizeIs(2));
  EXPECT_THAT(
      machine.findings,
      Contains(Field(&Finding::message, HasSubstr("NVLinks and peer access of the 2 GPUs"))));
}

TEST(Nvml, IsNotOpenedWithoutAnNvidiaDevice) {
  const test::BuiltTree tree;
  const Machine machine = probe({.root = tree.root(),
                                 .environment = Environment(),
                                 .home = "/root",
                                 .nvml_library = LOCKSTEP_NVML_STAND_IN});
  EXPECT_EQ(machine.system.gpu_driver, "");
  EXPECT_THAT(machine.gpus, IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology
