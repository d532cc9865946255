// Paths worked out by hand on small machines.
#include "topology/paths.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "tests/topology/machines.h"
#include "topology/gpudirect.h"
#include "topology/peer_access.h"

namespace lockstep::topology {
namespace {

constexpr DeviceId gpu(int i) {
  return {DeviceKind::gpu, i};
}
constexpr DeviceId nic(int i) {
  return {DeviceKind::nic, i};
}
constexpr DeviceId port(int i) {
  return {DeviceKind::pcie_switch, i};
}
constexpr DeviceId numa(int i) {
  return {DeviceKind::numa, i};
}

void tie(Machine& machine, DeviceId from, DeviceId to, LinkKind kind, int count = 1,
         std::optional<double> GBps = std::nullopt) {
  machine.links.push_back({.from = from, .to = to, .kind = kind, .count = count, .GBps = GBps});
}

// GPUs of Gen4 x16 and that compute capability, tied to nothing yet.
Machine bare(int gpus, int sm) {
  Machine machine;
  machine.cpu.architecture = "x86_64";
  machine.cpu.vendor = "GenuineIntel";
  machine.cpu.family = 6;
  machine.cpu.model_number = 0x8f;
  machine.numa.resize(2);
  machine.numa[1].id = 1;
  for (int i = 0; i < gpus; ++i) {
    Gpu each;
    each.sm = sm;
    each.pci.address = PciAddress{0, static_cast<std::uint8_t>(0x10 + i), 0, 0};
    each.pci.link.max_speed = 16;
    each.pci.link.max_width = 16;
    machine.gpus.push_back(each);
  }
  return machine;
}

// An adapter of 200 Gb/s at Gen4 x16.
int add_nic(Machine& machine, std::uint8_t bus, std::uint8_t function, DeviceId to) {
  Nic each;
  each.pci.address = PciAddress{0, bus, 0, function};
  each.pci.link.max_speed = 16;
  each.pci.link.max_width = 16;
  each.rate_Gbps = 200;
  machine.nics.push_back(each);
  const int index = static_cast<int>(machine.nics.size()) - 1;
  tie(machine, nic(index), to, LinkKind::pcie);
  return index;
}

int add_switch(Machine& machine, DeviceId to, double speed = 16) {
  Switch each;
  each.pci.link.max_speed = speed;
  each.pci.link.max_width = 16;
  machine.switches.push_back(each);
  const int index = static_cast<int>(machine.switches.size()) - 1;
  tie(machine, port(index), to, LinkKind::pcie);
  return index;
}

void expect_path(const Path& path, PathKind kind, double GBps) {
  EXPECT_EQ(path.kind, kind) << to_string(path.from) << " to " << to_string(path.to) << ": "
                             << to_string(path.kind);
  ASSERT_TRUE(path.GBps.has_value());
  EXPECT_NEAR(*path.GBps, GBps, 1e-9);
}

TEST(Paths, NvswitchesAreOneNodeAndGiveAllNvlinksOfAGpu) {
  const PathTable paths = paths_of(test::hgx_h100());
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      const Path path = paths.between(gpu(a), gpu(b));
      expect_path(path, PathKind::NVL, 370.8);
      EXPECT_EQ(path.label, "NV18");
    }
  }
}

TEST(Paths, AGpuHasItsOwnAdapterAtPixAndReachesOthersThroughTheirGpu) {
  const PathTable paths = paths_of(test::hgx_h100());
  expect_path(paths.between(gpu(3), nic(3)), PathKind::PIX, 48);
  expect_path(paths.between(nic(3), gpu(3)), PathKind::PIX, 48);
  expect_path(paths.between(gpu(0), nic(1)), PathKind::PXN, 48);
  expect_path(paths.between(gpu(0), nic(7)), PathKind::PXN, 48);
}

TEST(Paths, AnAdapterOnTheProcessorIsPhbOrSys) {
  const PathTable paths = paths_of(test::hgx_h100());
  expect_path(paths.between(gpu(0), nic(8)), PathKind::PHB, 12.5);
  expect_path(paths.between(gpu(4), nic(8)), PathKind::SYS, 12.5);
  expect_path(paths.between(nic(0), nic(8)), PathKind::PHB, 12.5);
  expect_path(paths.between(nic(0), nic(4)), PathKind::SYS, 22);
}

TEST(Paths, WithoutPxnAGpuGoesThroughTheProcessor) {
  const PathTable paths = paths_of(test::hgx_h100(), {.peer_level = {}, .nic_through_gpu = false});
  expect_path(paths.between(gpu(0), nic(1)), PathKind::PHB, 48);
  expect_path(paths.between(gpu(0), nic(7)), PathKind::SYS, 22);
}

TEST(Paths, RootPortsOfOneNodeAreHostBridge) {
  const PathTable paths = paths_of(test::workstation());
  expect_path(paths.between(gpu(0), gpu(3)), PathKind::PHB, 24);
  expect_path(paths.between(gpu(0), nic(0)), PathKind::PHB, 1.25);
}

TEST(Paths, OneSwitchIsPixAndTwoArePxb) {
  Machine machine = bare(3, 80);
  const int outer = add_switch(machine, numa(0));
  const int inner = add_switch(machine, port(outer));
  tie(machine, gpu(0), port(outer), LinkKind::pcie);
  tie(machine, gpu(1), port(outer), LinkKind::pcie);
  tie(machine, gpu(2), port(inner), LinkKind::pcie);
  const PathTable paths = paths_of(machine);
  expect_path(paths.between(gpu(0), gpu(1)), PathKind::PIX, 24);
  expect_path(paths.between(gpu(0), gpu(2)), PathKind::PXB, 24);
}

TEST(Paths, BroadcomSwitchesOfTwoLevelsAreOne) {
  for (const auto& [device, outer_id, inner_id] :
       {std::tuple{0xc030U, 0x0072U, 0x1003U}, {0xc010U, 0xa096U, 0xa096U}}) {
    Machine machine = bare(2, 90);
    const int outer = add_switch(machine, numa(0), 5);
    const int first = add_switch(machine, port(outer));
    const int second = add_switch(machine, port(outer));
    for (Switch& each : machine.switches) {
      each.pci.vendor = each.pci.subsystem_vendor = 0x1000;
      each.pci.device = device;
      each.pci.subsystem_device = inner_id;
    }
    machine.switches.front().pci.subsystem_device = outer_id;
    tie(machine, gpu(0), port(first), LinkKind::pcie);
    tie(machine, gpu(1), port(second), LinkKind::pcie);
    expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::PIX, 24);
    machine.switches.front().pci.subsystem_vendor = 0x10b5;
    expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::PXB, 24);
  }
}

TEST(Paths, TwoNvlinksInARowAreNvbAndMoreAreNot) {
  Machine machine = bare(4, 70);
  for (int i = 0; i < 4; ++i) tie(machine, gpu(i), numa(i / 2), LinkKind::pcie);
  tie(machine, gpu(0), gpu(1), LinkKind::nvlink, 2);
  tie(machine, gpu(1), gpu(2), LinkKind::nvlink, 1);
  tie(machine, gpu(2), gpu(3), LinkKind::nvlink, 1);
  const PathTable paths = paths_of(machine);
  expect_path(paths.between(gpu(0), gpu(1)), PathKind::NVL, 40);
  EXPECT_EQ(paths.between(gpu(0), gpu(1)).label, "NV2");
  expect_path(paths.between(gpu(0), gpu(2)), PathKind::NVB, 20);
  expect_path(paths.between(gpu(0), gpu(3)), PathKind::SYS, 22);
  PathOptions options;
  options.nvlink_through_gpu = false;
  expect_path(paths_of(machine, options).between(gpu(0), gpu(2)), PathKind::SYS, 22);
}

TEST(Paths, TheWayOverTheOtherProcessorMayBeginWithAnNvlink) {
  Machine machine = bare(3, 80);
  for (int i = 0; i < 3; ++i) tie(machine, gpu(i), numa(i == 0 ? 0 : 1), LinkKind::pcie);
  expect_path(paths_of(machine).between(gpu(0), gpu(2)), PathKind::SYS, 22);
  tie(machine, gpu(0), gpu(1), LinkKind::nvlink, 2);
  // GPU0 to GPU1, from there to node 1: as short as from node to node, and wider.
  expect_path(paths_of(machine).between(gpu(0), gpu(2)), PathKind::PHB, 24);
}

TEST(Paths, NvlinksStatedTwiceAddUp) {
  Machine machine = bare(2, 80);
  tie(machine, gpu(0), gpu(1), LinkKind::nvlink, 4);
  tie(machine, gpu(1), gpu(0), LinkKind::nvlink, 8);
  expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::NVL, 240);
}

// Two GPUs of a Grace machine without NVLink between them, an adapter on each processor.
Machine grace() {
  Machine machine = bare(2, 90);
  machine.cpu = Cpu{};
  machine.cpu.architecture = "arm64";
  for (int i = 0; i < 2; ++i) {
    tie(machine, gpu(i), numa(i), LinkKind::pcie);
    tie(machine, gpu(i), numa(i), LinkKind::c2c, 1, 450);
    add_nic(machine, static_cast<std::uint8_t>(0x20 + i), 0, numa(i));
  }
  return machine;
}

TEST(Paths, AnAdapterOnTheProcessorOfAGraceIsP2c) {
  const PathTable paths = paths_of(grace());
  expect_path(paths.between(gpu(0), nic(0)), PathKind::P2C, 24);
  expect_path(paths.between(gpu(0), nic(1)), PathKind::SYS, 6);
  expect_path(paths.between(gpu(0), gpu(1)), PathKind::SYS, 6);
}

TEST(Paths, WithoutGpudirectOverC2cTheWayLeadsThroughTheProcessor) {
  PathOptions options;
  options.gpudirect_over_c2c = false;
  // The way is the same one, so its kind stays: C2C and a host bridge.
  expect_path(paths_of(grace(), options).between(gpu(0), nic(0)), PathKind::P2C, 24);
  const Gpu any_gpu;
  const Nic any_nic;
  EXPECT_EQ(gpudirect(any_gpu, any_nic, PathKind::P2C, options), GpuDirect::too_far);
  EXPECT_EQ(gpudirect(any_gpu, any_nic, PathKind::P2C), GpuDirect::on);
}

TEST(Paths, TwoPortsOfAnAdapterAreOneDevice) {
  Machine machine = bare(1, 80);
  const int at = add_switch(machine, numa(0));
  tie(machine, gpu(0), port(at), LinkKind::pcie);
  add_nic(machine, 0x20, 0, port(at));
  add_nic(machine, 0x20, 1, port(at));
  add_nic(machine, 0x21, 0, port(at));
  const PathTable paths = paths_of(machine);
  expect_path(paths.between(nic(0), nic(1)), PathKind::LOC, 25);
  expect_path(paths.between(nic(0), nic(2)), PathKind::PIX, 24);
  expect_path(paths.between(gpu(0), nic(1)), PathKind::PIX, 24);
}

TEST(Paths, WithoutGpudirectAnAdapterBesideTheGpuIsAsFarAsTheProcessor) {
  Machine machine = bare(1, 80);
  const int at = add_switch(machine, numa(0), 8);
  tie(machine, gpu(0), port(at), LinkKind::pcie);
  add_nic(machine, 0x20, 0, port(at));
  expect_path(paths_of(machine).between(gpu(0), nic(0)), PathKind::PIX, 24);
  machine.nics[0].gpudirect = false;
  expect_path(paths_of(machine).between(gpu(0), nic(0)), PathKind::PHB, 12);
  machine.nics[0].gpudirect = true;
  machine.gpus[0].gpudirect = false;
  expect_path(paths_of(machine).between(gpu(0), nic(0)), PathKind::PHB, 12);
}

TEST(Paths, APairThatTheDriverRefusesGoesThroughTheProcessor) {
  Machine machine = bare(2, 80);
  const int at = add_switch(machine, numa(0), 8);
  for (int i = 0; i < 2; ++i) tie(machine, gpu(i), port(at), LinkKind::pcie);
  expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::PIX, 24);
  machine.peers.push_back({gpu(0), gpu(1), 'w', "CNS"});
  expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::PHB, 12);
  machine.peers[0].status = "OK";
  PathOptions options;
  options.peer_level = PathKind::NVL;
  expect_path(paths_of(machine, options).between(gpu(0), gpu(1)), PathKind::PHB, 12);
}

TEST(PeerAccess, ReachesToPxbAndOnASmallAmdMachineToSys) {
  Machine machine = bare(2, 80);
  EXPECT_EQ(PeerRule(machine).level(), PathKind::PXB);
  EXPECT_EQ(PeerRule(machine).access(gpu(0), gpu(1), PathKind::PHB), PeerAccess::too_far);
  machine.cpu.vendor = "AuthenticAMD";
  EXPECT_EQ(PeerRule(machine).level(), PathKind::SYS);
  EXPECT_EQ(PeerRule(machine).access(gpu(0), gpu(1), PathKind::SYS), PeerAccess::direct);
  machine.gpus.resize(3);
  EXPECT_EQ(PeerRule(machine).level(), PathKind::PXB);
  EXPECT_EQ(PeerRule(machine, PathKind::PHB).level(), PathKind::PHB);
}

TEST(PeerAccess, IsRefusedWhereTheDriverDoesNotKnow) {
  Machine machine = bare(2, 80);
  machine.peers.push_back({gpu(0), gpu(1), 'r', "U"});
  machine.peers.push_back({gpu(1), gpu(0), 'a', "NS"});
  const PeerRule rule(machine);
  EXPECT_EQ(rule.access(gpu(0), gpu(1), PathKind::PIX), PeerAccess::refused);
  EXPECT_EQ(rule.access(gpu(1), gpu(0), PathKind::PIX), PeerAccess::direct) << "atomics only";
}

TEST(GpuDirectRule, ReachesToPxbAndNeedsBothDevices) {
  Gpu device;
  Nic adapter;
  EXPECT_EQ(gpudirect(device, adapter, PathKind::PXB), GpuDirect::on);
  EXPECT_EQ(gpudirect(device, adapter, PathKind::PHB), GpuDirect::too_far);
  PathOptions options;
  options.gpudirect_level = PathKind::SYS;
  EXPECT_EQ(gpudirect(device, adapter, PathKind::PHB, options), GpuDirect::on);
  adapter.gpudirect = false;
  EXPECT_EQ(gpudirect(device, adapter, PathKind::PIX), GpuDirect::not_supported);
}

TEST(Paths, WhatNothingSaysIsUnknown) {
  Machine machine = bare(2, 80);
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).kind, PathKind::unknown);
  EXPECT_TRUE(paths_of(machine).all().empty());
  // GPU1 hangs off nothing.
  tie(machine, gpu(0), numa(0), LinkKind::pcie);
  const Path path = paths_of(machine).between(gpu(0), gpu(1));
  EXPECT_EQ(path.kind, PathKind::unknown);
  EXPECT_EQ(path.label, "unknown");
  EXPECT_EQ(path.GBps, std::nullopt);
}

TEST(Paths, ASpeedThatIsNotKnownIsNotMadeUp) {
  Machine machine = bare(2, 80);
  machine.cpu = Cpu{};
  for (Gpu& each : machine.gpus) each.sm.reset();
  for (int i = 0; i < 2; ++i) tie(machine, gpu(i), numa(i), LinkKind::pcie);
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).kind, PathKind::SYS);
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).GBps, std::nullopt);
  tie(machine, gpu(0), gpu(1), LinkKind::nvlink, 4);
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).kind, PathKind::NVL);
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).GBps, std::nullopt);
  add_nic(machine, 0x20, 0, numa(0));
  EXPECT_TRUE(paths_of(machine).between(gpu(0), nic(0)).GBps.has_value());
  machine.nics[0].rate_Gbps.reset();
  EXPECT_EQ(paths_of(machine).between(gpu(0), nic(0)).kind, PathKind::PHB);
  EXPECT_EQ(paths_of(machine).between(gpu(0), nic(0)).GBps, std::nullopt);
}

TEST(Paths, StatedPairsAreTakenAsTheyAreWithNodeAsHostBridge) {
  Machine machine = bare(3, 80);
  add_nic(machine, 0x20, 0, numa(0));
  machine.links.clear();
  machine.stated = {{gpu(0), gpu(1), "NV12"},
                    {gpu(0), gpu(2), "NODE"},
                    {nic(0), gpu(0), "PXB"},
                    {gpu(1), nic(0), "?"}};
  const PathTable paths = paths_of(machine);
  expect_path(paths.between(gpu(1), gpu(0)), PathKind::NVL, 240);
  EXPECT_EQ(paths.between(gpu(1), gpu(0)).label, "NV12");
  EXPECT_EQ(paths.between(gpu(0), gpu(2)).kind, PathKind::PHB);
  EXPECT_EQ(paths.between(gpu(0), gpu(2)).label, "NODE");
  EXPECT_EQ(paths.between(gpu(0), gpu(2)).GBps, std::nullopt);
  EXPECT_EQ(paths.between(gpu(0), nic(0)).kind, PathKind::PXB);
  EXPECT_EQ(paths.between(gpu(1), nic(0)).kind, PathKind::unknown);
  EXPECT_EQ(paths.between(gpu(1), nic(0)).label, "?");
}

TEST(Paths, StatedNvlinksCountWhereLinksShowNone) {
  Machine machine = test::workstation();
  machine.stated = {{gpu(0), gpu(1), "NV4"}, {gpu(2), gpu(3), "NODE"}, {gpu(1), gpu(0), "NV4"}};
  const PathTable paths = paths_of(machine);
  expect_path(paths.between(gpu(0), gpu(1)), PathKind::NVL, 48);
  expect_path(paths.between(gpu(2), gpu(3)), PathKind::PHB, 24);
  EXPECT_EQ(paths.between(gpu(2), gpu(3)).label, "NODE");
}

TEST(Paths, AMatrixWithoutNvlinksDoesNotHideThem) {
  Machine machine = test::hgx_h100();
  machine.stated = {{gpu(0), gpu(1), "NODE"}};  // of `topo -mp`
  EXPECT_EQ(paths_of(machine).between(gpu(0), gpu(1)).label, "NV18");
}

TEST(Paths, LinksOfDevicesThatAreNotThereArePassedOver) {
  Machine machine = bare(2, 80);
  for (int i = 0; i < 2; ++i) tie(machine, gpu(i), numa(0), LinkKind::pcie);
  tie(machine, gpu(7), gpu(0), LinkKind::nvlink, 4);
  tie(machine, gpu(0), {DeviceKind::pcie_switch, -1}, LinkKind::pcie);
  tie(machine, gpu(0), gpu(0), LinkKind::nvlink, 12);
  expect_path(paths_of(machine).between(gpu(0), gpu(1)), PathKind::PHB, 24);
}

TEST(PathTable, KnowsEveryKindByItsName) {
  for (const char* name : {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS",
                           "NET", "DIS", "unknown"}) {
    const auto kind = parse_path_kind(name);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_EQ(to_string(*kind), name);
  }
  EXPECT_EQ(parse_path_kind("NODE"), std::nullopt);
  EXPECT_EQ(PathTable({}).between(gpu(2), gpu(2)).kind, PathKind::LOC);
}

}  // namespace
}  // namespace lockstep::topology
