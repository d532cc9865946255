#include "topology/bandwidth.h"

#include <gtest/gtest.h>

namespace lockstep::topology {
namespace {

Gpu gpu_of(int sm) {
  Gpu gpu;
  gpu.sm = sm;
  return gpu;
}

PcieLink pcie(double speed, int width) {
  PcieLink link;
  link.max_speed = speed;
  link.max_width = width;
  return link;
}

Cpu processor(std::string vendor, int family, int model) {
  Cpu cpu;
  cpu.architecture = "x86_64";
  cpu.vendor = std::move(vendor);
  cpu.family = family;
  cpu.model_number = model;
  return cpu;
}

TEST(Bandwidth, AllNvlinksOfAGpuAddUpToTheNumbersInNcclsLogs) {
  EXPECT_DOUBLE_EQ(6 * *nvlink_GBps(gpu_of(70)), 120);
  EXPECT_DOUBLE_EQ(12 * *nvlink_GBps(gpu_of(80)), 240);
  EXPECT_DOUBLE_EQ(18 * *nvlink_GBps(gpu_of(90)), 370.8);
  EXPECT_DOUBLE_EQ(18 * *nvlink_GBps(gpu_of(100)), 721.8);
}

TEST(Bandwidth, Sm86HasHalfLinksAndSm89ThoseOfSm80) {
  EXPECT_DOUBLE_EQ(*nvlink_GBps(gpu_of(86)), 12);
  EXPECT_DOUBLE_EQ(*nvlink_GBps(gpu_of(89)), 20);
  EXPECT_DOUBLE_EQ(*nvlink_GBps(gpu_of(61)), 18);
}

TEST(Bandwidth, AnUnknownGenerationHasNoNvlinkSpeed) {
  EXPECT_EQ(nvlink_GBps(Gpu{}), std::nullopt);
}

TEST(Bandwidth, XgmiFollowsTheArchitecture) {
  Gpu gpu;
  for (const auto& [name, GBps] : {std::pair{"gfx906", 24.0}, {"gfx90a", 36.0}, {"gfx942", 48.0}}) {
    gpu.name = name;
    EXPECT_DOUBLE_EQ(xgmi_GBps(gpu), GBps) << name;
  }
}

TEST(Bandwidth, SixteenLanesOfEachPcieGeneration) {
  const double speeds[] = {2.5, 5, 8, 16, 32, 64};
  const double GBps[] = {3, 6, 12, 24, 48, 96};
  for (int i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(pcie_GBps(pcie(speeds[i], 16)), GBps[i]);
  EXPECT_DOUBLE_EQ(pcie_GBps(pcie(2.5, 1)), 0.1875);
}

TEST(Bandwidth, APcieLinkThatDoesNotSayHasNoStatedRate) {
  EXPECT_DOUBLE_EQ(*stated_pcie_GBps(pcie(2.5, 1)), 0.1875);
  EXPECT_DOUBLE_EQ(*stated_pcie_GBps(pcie(5, 16)), 6);
  EXPECT_DOUBLE_EQ(*stated_pcie_GBps(pcie(16, 16)), 24);
  EXPECT_DOUBLE_EQ(*stated_pcie_GBps(pcie(32, 16)), 48);
  EXPECT_EQ(stated_pcie_GBps(pcie(3, 16)), std::nullopt);
  EXPECT_EQ(stated_pcie_GBps(pcie(16, 0)), std::nullopt);
  PcieLink narrow;
  narrow.max_width = 16;
  EXPECT_EQ(stated_pcie_GBps(narrow), std::nullopt);
}

TEST(Bandwidth, AnUnknownPcieLinkIsGeneration3By16) {
  EXPECT_DOUBLE_EQ(pcie_GBps(PcieLink{}), 12);
  PcieLink now;
  now.speed = 16;
  now.width = 8;
  EXPECT_DOUBLE_EQ(pcie_GBps(now), 12) << "what the link does now stands in for what it could do";
}

TEST(Bandwidth, PcieSpeedsAreMatchedByTheirExactText) {
  EXPECT_EQ(pcie_speed("16 GT/s"), 16);
  EXPECT_EQ(pcie_speed("16.0 GT/s PCIe"), 16);
  EXPECT_EQ(pcie_speed("2.5 GT/s"), 2.5);
  EXPECT_EQ(pcie_speed("32 GT/s PCIe/s"), std::nullopt);
  EXPECT_EQ(pcie_speed(""), std::nullopt);
  EXPECT_EQ(pcie_speed_text(32), "32.0 GT/s PCIe");
  EXPECT_EQ(pcie_speed_text(7), "");
}

TEST(Bandwidth, NumaNodesTalkAsFastAsTheirProcessorsLinks) {
  EXPECT_EQ(numa_GBps(processor("GenuineIntel", 6, 0x4f)), 6);
  EXPECT_EQ(numa_GBps(processor("GenuineIntel", 6, 0x55)), 10);
  EXPECT_EQ(numa_GBps(processor("GenuineIntel", 6, 143)), 22);
  EXPECT_EQ(numa_GBps(processor("GenuineIntel", 6, 0xcf)), 40);
  EXPECT_EQ(numa_GBps(processor("AuthenticAMD", 143, 49)), 16);
  EXPECT_EQ(numa_GBps(processor("CentaurHauls", 7, 0x1b)), 6);
  EXPECT_EQ(numa_GBps(processor("  Shanghai  ", 7, 0x5b)), 9);
  Cpu cpu;
  cpu.architecture = "arm64";
  EXPECT_EQ(numa_GBps(cpu), 6);
  cpu.architecture = "ppc64";
  EXPECT_EQ(numa_GBps(cpu), 32);
  EXPECT_EQ(numa_GBps(Cpu{}), std::nullopt);
}

TEST(Bandwidth, AnAdapterThatDoesNotSayCarries10Gigabits) {
  Nic nic;
  EXPECT_DOUBLE_EQ(nic_GBps(nic), 1.25);
  nic.rate_Gbps = 400;
  EXPECT_DOUBLE_EQ(nic_GBps(nic), 50);
}

}  // namespace
}  // namespace lockstep::topology
