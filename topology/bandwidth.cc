#include "topology/bandwidth.h"

#include <array>
#include <cmath>

namespace lockstep::topology {
namespace {

// NCCL 2.28 graph/topo.h, SMxx_NVLINK_BW, newest first. What is older than all is taken for sm80.
struct NvlinkSpeed {
  int from_sm;
  double GBps;
};
constexpr std::array kNvlinkSpeeds{NvlinkSpeed{100, 40.1}, NvlinkSpeed{90, 20.6},
                                   NvlinkSpeed{80, 20.0}, NvlinkSpeed{70, 20.0},
                                   NvlinkSpeed{60, 18.0}};
constexpr int kSm86 = 86;  // the one exception within a generation: its links are half as wide
constexpr double kSm86GBps = 12.0;
constexpr double kOlderGBps = 20.0;

// RCCL graph/topo.h, *_XGMI_WIDTH.
struct XgmiSpeed {
  std::string_view architecture;
  double GBps;
};
constexpr std::array kXgmiSpeeds{XgmiSpeed{"gfx94", 48.0}, XgmiSpeed{"gfx95", 48.0},
                                 XgmiSpeed{"gfx90a", 36.0}};
constexpr double kVegaXgmiGBps = 24.0;

// NCCL 2.28 graph/topo.cc, kvDictPciGen: per lane, in units of 100 Mb/s; a link has width times
// that by 80 GB/s, so that protocol overhead is left out of it.
struct PcieSpeed {
  double speed;  // GT/s
  int per_lane;
  std::string_view old_text, text;
};
constexpr std::array kPcieSpeeds{
    PcieSpeed{2.5, 15, "2.5 GT/s", "2.5 GT/s PCIe"},
    PcieSpeed{5, 30, "5 GT/s", "5.0 GT/s PCIe"},
    PcieSpeed{8, 60, "8 GT/s", "8.0 GT/s PCIe"},
    PcieSpeed{16, 120, "16 GT/s", "16.0 GT/s PCIe"},
    PcieSpeed{32, 240, "32 GT/s", "32.0 GT/s PCIe"},
    PcieSpeed{64, 480, "64 GT/s", "64.0 GT/s PCIe"},
};
constexpr int kAssumedPerLane = 60;
constexpr int kAssumedLanes = 16;
constexpr int kMostLanes = 32;

const PcieSpeed* find_speed(double speed) {
  for (const PcieSpeed& each : kPcieSpeeds) {
    if (std::abs(each.speed - speed) < 0.05 * each.speed) return &each;
  }
  return nullptr;
}

// NCCL 2.28 graph/topo.h, *_QPI_BW, AMD_BW, ARM_BW, P9_BW, ZPI_BW. Intel's by model of family 6.
struct IntelSpeed {
  int from_model;
  double GBps;
};
constexpr std::array kIntelSpeeds{IntelSpeed{0xcf, 40}, IntelSpeed{0x8f, 22}, IntelSpeed{0x55, 10}};
constexpr double kBroadwellGBps = 6;
constexpr double kAmdGBps = 16;
constexpr double kArmGBps = 6;
constexpr double kPower9GBps = 32;
constexpr double kZhaoxinGBps = 6;
constexpr double kYongfengGBps = 9;

constexpr double kAssumedNicGbps = 10;

std::optional<double> intel_GBps(const Cpu& cpu) {
  if (!cpu.family || !cpu.model_number) return std::nullopt;
  if (*cpu.family != 6) return kBroadwellGBps;
  for (const IntelSpeed& each : kIntelSpeeds) {
    if (*cpu.model_number >= each.from_model) return each.GBps;
  }
  return kBroadwellGBps;
}

}  // namespace

std::optional<double> nvlink_GBps(const Gpu& gpu) {
  if (!gpu.sm) return std::nullopt;
  if (*gpu.sm == kSm86) return kSm86GBps;
  for (const NvlinkSpeed& each : kNvlinkSpeeds) {
    if (*gpu.sm >= each.from_sm) return each.GBps;
  }
  return kOlderGBps;
}

double xgmi_GBps(const Gpu& gpu) {
  for (const XgmiSpeed& each : kXgmiSpeeds) {
    if (gpu.name.find(each.architecture) != std::string::npos) return each.GBps;
  }
  return kVegaXgmiGBps;
}

std::optional<double> stated_pcie_GBps(const PcieLink& link) {
  const auto speed = link.max_speed ? link.max_speed : link.speed;
  const int width = link.max_width.value_or(link.width.value_or(0));
  const PcieSpeed* known = speed ? find_speed(*speed) : nullptr;
  if (known == nullptr || width < 1 || width > kMostLanes) return std::nullopt;
  return width * known->per_lane / 80.0;
}

double pcie_GBps(const PcieLink& link) {
  const auto speed = link.max_speed ? link.max_speed : link.speed;
  const int width = link.max_width.value_or(link.width.value_or(0));
  const PcieSpeed* known = speed ? find_speed(*speed) : nullptr;
  const int per_lane = known != nullptr ? known->per_lane : kAssumedPerLane;
  return (width > 0 ? width : kAssumedLanes) * per_lane / 80.0;
}

std::optional<double> pcie_speed(std::string_view text) {
  for (const PcieSpeed& each : kPcieSpeeds) {
    if (text == each.old_text || text == each.text) return each.speed;
  }
  return std::nullopt;
}

std::string_view pcie_speed_text(double speed) {
  const PcieSpeed* known = find_speed(speed);
  return known != nullptr ? known->text : std::string_view{};
}

std::optional<double> numa_GBps(const Cpu& cpu) {
  if (cpu.architecture == "arm64" || cpu.architecture == "aarch64") return kArmGBps;
  if (cpu.architecture.starts_with("ppc64")) return kPower9GBps;
  if (cpu.vendor == "GenuineIntel") return intel_GBps(cpu);
  if (cpu.vendor == "AuthenticAMD") return kAmdGBps;
  if (cpu.vendor == "CentaurHauls" || cpu.vendor.find("Shanghai") != std::string::npos)
    return cpu.family == 7 && cpu.model_number == 0x5b ? kYongfengGBps : kZhaoxinGBps;
  return std::nullopt;
}

double nic_GBps(const Nic& nic) {
  const double Gbps = nic.rate_Gbps && *nic.rate_Gbps > 0 ? *nic.rate_Gbps : kAssumedNicGbps;
  return Gbps / 8;
}

}  // namespace lockstep::topology
