// All rules together: nothing where all is well, and in order where it is not.
#include "topology/findings/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/findings/built.h"
#include "tests/topology/machines.h"

namespace lockstep::topology {
namespace {

using test::hgx_h100;
using test::matrix;
using test::summary;
using test::workstation;
using testing::ElementsAre;
using testing::IsEmpty;

const PathTable kNothing({});

TEST(Judge, HealthyMachinesHaveNoFindings) {
  EXPECT_THAT(summary(judge(hgx_h100(), kNothing)),
              ElementsAre("info ethernet-among-infiniband NIC8"))
      << "a hint";
  EXPECT_THAT(summary(judge(workstation(), kNothing)), IsEmpty());
  EXPECT_THAT(summary(judge(Machine{}, kNothing)), IsEmpty());
}

TEST(Judge, AHealthyHostReadLiveHasNoFindings) {
  Machine machine = hgx_h100();
  machine.sources = {"live"};
  machine.system.kernel_command_line = "intel_iommu=on iommu=pt";
  machine.system.iommu_groups = 200;
  machine.system.peer_memory = true;
  machine.system.dmabuf = true;
  machine.system.shared_memory = std::uint64_t{1} << 40;
  machine.system.locked_memory = UINT64_MAX;
  machine.system.verbs_devices = true;
  machine.system.fabric_manager = true;
  machine.system.settings = {{"NCCL_IB_HCA", "^mlx5_bond_0", "/etc/nccl.conf"}};
  EXPECT_THAT(summary(judge(machine, kNothing)), IsEmpty());
}

TEST(Judge, ALaptopHearsNothingOfGpus) {
  Machine machine = workstation();
  machine.sources = {"live"};
  machine.gpus.clear();
  std::erase_if(machine.links, [](const Link& link) { return link.from.kind == DeviceKind::gpu; });
  machine.system.iommu_groups = 20;
  machine.system.peer_memory = false;
  machine.system.dmabuf = false;
  machine.system.shared_memory = std::uint64_t{64} << 20;
  machine.system.locked_memory = 8 << 20;
  machine.system.fabric_manager = false;
  machine.nics[0].state = NicState::down;
  EXPECT_THAT(summary(judge(machine, kNothing)), IsEmpty());
}

TEST(Judge, TheGb200MatrixIsAsItShouldBe) {
  Machine machine = matrix({"X NV18 SYS SYS", "NV18 X SYS SYS"});
  machine.gpus[0].memory_numa = 2;
  machine.gpus[1].memory_numa = 10;
  const PathTable paths({{{DeviceKind::gpu, 0}, {DeviceKind::nic, 0}, PathKind::SYS, "SYS", {}},
                         {{DeviceKind::gpu, 0}, {DeviceKind::nic, 1}, PathKind::SYS, "SYS", {}},
                         {{DeviceKind::gpu, 1}, {DeviceKind::nic, 0}, PathKind::SYS, "SYS", {}},
                         {{DeviceKind::gpu, 1}, {DeviceKind::nic, 1}, PathKind::SYS, "SYS", {}}});
  EXPECT_THAT(summary(judge(machine, paths)), IsEmpty());
}

Machine hurt() {
  Machine machine = hgx_h100();
  machine.gpus[0].pci.link.speed = 2.5;
  machine.gpus[1].pci.link.width = 8;
  std::erase_if(machine.links, [](const Link& link) {
    return link.kind == LinkKind::nvlink && link.from == DeviceId{DeviceKind::gpu, 2};
  });
  return machine;
}

TEST(Judge, ErrorsComeFirstAndHintsLast) {
  EXPECT_THAT(summary(judge(hurt(), kNothing)),
              ElementsAre("error missing-nvlink GPU2", "warning narrow-pcie-link GPU1",
                          "info slow-pcie-link GPU0", "info ethernet-among-infiniband NIC8"));
}

TEST(Judge, WhatReadingFoundIsNotSaidAgain) {
  Machine machine = hurt();
  machine.findings.push_back({Severity::error, "missing-nvlink", "said", "GPU2", ""});
  EXPECT_THAT(summary(judge(machine, kNothing)),
              ElementsAre("warning narrow-pcie-link GPU1", "info slow-pcie-link GPU0",
                          "info ethernet-among-infiniband NIC8"));
}

TEST(Judge, EveryFindingSaysWhatWhereAndWhatToDo) {
  for (const Finding& finding : judge(hurt(), kNothing)) {
    EXPECT_FALSE(finding.where.empty()) << finding.code;
    EXPECT_FALSE(finding.remedy.empty()) << finding.code;
    EXPECT_EQ(finding.message.back(), '.') << finding.message;
    EXPECT_EQ(finding.code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos)
        << finding.code;
  }
}

}  // namespace
}  // namespace lockstep::topology
