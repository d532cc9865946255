#include "tests/topology/drawn_machines.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace lockstep::topology::test {
namespace {

PciDevice device(std::uint8_t domain, std::uint8_t bus, double speed, int width) {
  PciDevice device;
  device.address = PciAddress{domain, bus, 0, 0};
  device.link = {
      .max_speed = speed, .speed = speed, .max_width = width, .width = width, .as_written = ""};
  return device;
}

void link(Machine& machine, DeviceId from, DeviceId to, LinkKind kind = LinkKind::pcie,
          int count = 1) {
  machine.links.push_back(
      {.from = from, .to = to, .kind = kind, .count = count, .GBps = std::nullopt});
}

void two_nodes(Machine& machine) {
  machine.cpu.architecture = "x86_64";
  machine.cpu.vendor = "GenuineIntel";
  machine.cpu.model = "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz";
  machine.cpu.family = 6;
  machine.cpu.model_number = 85;
  machine.cpu.sockets = 2;
  machine.numa = {{.id = 0,
                   .cpus = *CpuSet::from_list("0-23,48-71"),
                   .memory = std::uint64_t{768} << 30,
                   .socket = 0},
                  {.id = 1,
                   .cpus = *CpuSet::from_list("24-47,72-95"),
                   .memory = std::uint64_t{768} << 30,
                   .socket = 1}};
  link(machine, {DeviceKind::numa, 0}, {DeviceKind::numa, 1}, LinkKind::numa);
}

Gpu gpu(std::string_view name, int sm, PciDevice pci, int numa) {
  Gpu gpu;
  gpu.name = name;
  gpu.sm = sm;
  gpu.pci = std::move(pci);
  gpu.numa = numa;
  return gpu;
}

Nic nic(int index, double rate, PciDevice pci, int numa) {
  Nic nic;
  nic.name = fmt::format("mlx5_{}", index);
  nic.kind = NicKind::infiniband;
  nic.state = NicState::active;
  nic.rate_Gbps = rate;
  nic.pci = std::move(pci);
  nic.numa = numa;
  return nic;
}

constexpr DeviceId node(int i) {
  return {DeviceKind::numa, i};
}
constexpr DeviceId sw(int i) {
  return {DeviceKind::pcie_switch, i};
}

}  // namespace

Machine dgx2() {
  Machine machine;
  machine.name = "dgx2";
  two_nodes(machine);
  machine.nvswitches.resize(12);
  for (int i = 0; i < 12; ++i) machine.switches.emplace_back();
  // Switches 0 to 3 are at the roots, two a node; below each are two that hold two GPUs each.
  for (int i = 0; i < 12; ++i) {
    machine.switches[static_cast<std::size_t>(i)].pci =
        device(0, static_cast<std::uint8_t>(0x10 + i), 8, 16);
    link(machine, sw(i), i < 4 ? node(i / 2) : sw((i - 4) / 2));
  }
  for (int i = 0; i < 16; ++i) {
    machine.gpus.push_back(gpu("Tesla V100-SXM3-32GB", 70,
                               device(0, static_cast<std::uint8_t>(0x34 + 2 * i), 8, 16), i / 8));
    link(machine, {DeviceKind::gpu, i}, sw(4 + i / 2));
    for (int s = 0; s < 6; ++s)
      link(machine, {DeviceKind::gpu, i}, {DeviceKind::nvswitch, 6 * (i / 8) + s},
           LinkKind::nvlink);
  }
  for (int i = 0; i < 10; ++i) {
    machine.nics.push_back(
        nic(i, 100, device(0, static_cast<std::uint8_t>(0x80 + i), 8, 16), i < 8 ? i / 4 : i - 8));
    link(machine, {DeviceKind::nic, i}, i < 8 ? sw(4 + i) : node(i - 8));
  }
  return machine;
}

Machine virtual_h100() {
  Machine machine;
  machine.name = "vm-nd96isr-000001";
  machine.system.virtual_machine = true;
  two_nodes(machine);
  for (int i = 0; i < 8; ++i) {
    Switch empty;
    empty.pci.address = PciAddress{0xffff, static_cast<std::uint8_t>(i + 1), 0, 0};
    machine.switches.push_back(empty);
    link(machine, sw(i), node(i / 4));
    machine.gpus.push_back(gpu("NVIDIA H100 80GB HBM3", 90,
                               device(static_cast<std::uint8_t>(i + 1), 0, 32, 16), i / 4));
    machine.nics.push_back(
        nic(i, 400, device(static_cast<std::uint8_t>(0x11 + i), 0, 32, 16), i / 4));
    link(machine, {DeviceKind::gpu, i}, sw(i));
    link(machine, {DeviceKind::nic, i}, sw(i));
  }
  machine.nvswitches.resize(4);
  for (int i = 0; i < 8; ++i) {
    for (int s = 0; s < 4; ++s)
      link(machine, {DeviceKind::gpu, i}, {DeviceKind::nvswitch, s}, LinkKind::nvlink,
           s < 2 ? 5 : 4);
  }
  return machine;
}

Machine matrix_only() {
  Machine machine;
  machine.name = "seen-by-nvidia-smi";
  two_nodes(machine);
  machine.links.clear();
  for (int i = 0; i < 8; ++i) machine.gpus.push_back(gpu("", 0, PciDevice{}, i / 4));
  for (Gpu& gpu : machine.gpus) gpu.sm.reset();
  for (int i = 0; i < 12; ++i) {
    Nic unknown;
    unknown.name = fmt::format("mlx5_{}", i);
    machine.nics.push_back(unknown);
  }
  const auto id = [](int i) {
    return i < 8 ? DeviceId{DeviceKind::gpu, i} : DeviceId{DeviceKind::nic, i - 8};
  };
  for (int a = 0; a < 20; ++a) {
    for (int b = 0; b < 20; ++b) {
      const bool gpus = a < 8 && b < 8;
      const int node_a = (a < 8 ? a : a - 8) / 4 % 2;
      const int node_b = (b < 8 ? b : b - 8) / 4 % 2;
      const bool near = (a < 8 ? a : a - 8) == (b < 8 ? b : b - 8);
      if (a == b) continue;
      machine.stated.push_back({.from = id(a),
                                .to = id(b),
                                .label = gpus               ? "NV12"
                                         : near             ? "PXB"
                                         : node_a == node_b ? "NODE"
                                                            : "SYS"});
    }
  }
  return machine;
}

Machine cube() {
  Machine machine;
  machine.name = "cube";
  two_nodes(machine);
  for (int i = 0; i < 4; ++i) {
    Switch plx;
    plx.pci = device(0, static_cast<std::uint8_t>(2 + i), 8, 16);
    machine.switches.push_back(plx);
    link(machine, sw(i), node(i / 2));
    machine.nics.push_back(
        nic(i, 100, device(0, static_cast<std::uint8_t>(0x50 + i), 8, 8), i / 2));
    link(machine, {DeviceKind::nic, i}, sw(i));
  }
  for (int i = 0; i < 8; ++i) {
    machine.gpus.push_back(
        gpu("Tesla V100-SXM2-16GB", 70, device(0, static_cast<std::uint8_t>(6 + i), 8, 16), i / 4));
    link(machine, {DeviceKind::gpu, i}, sw(i / 2));
  }
  constexpr int kPairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                               {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                               {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  for (const auto& [a, b, count] : kPairs)
    link(machine, {DeviceKind::gpu, a}, {DeviceKind::gpu, b}, LinkKind::nvlink, count);
  return machine;
}

Machine pair() {
  Machine machine;
  machine.name = "pair";
  machine.numa = {
      {.id = 0, .cpus = *CpuSet::from_list("0-31"), .memory = std::nullopt, .socket = 0}};
  for (int i = 0; i < 2; ++i) {
    machine.gpus.push_back(
        gpu("NVIDIA RTX A6000", 86, device(0, static_cast<std::uint8_t>(1 + i), 16, 16), 0));
    link(machine, {DeviceKind::gpu, i}, node(0));
  }
  link(machine, {DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, LinkKind::nvlink, 4);
  return machine;
}

Machine grace() {
  Machine machine;
  machine.name = "grace";
  two_nodes(machine);
  machine.cpu = {};
  machine.cpu.architecture = "arm64";
  for (int i = 0; i < 4; ++i) {
    machine.numa.push_back({.id = 2 + i, .cpus = {}, .memory = std::nullopt, .socket = i / 2});
    machine.switches.emplace_back();
    link(machine, sw(i), node(i / 2));
    machine.gpus.push_back(
        gpu("NVIDIA GB200", 100, device(static_cast<std::uint8_t>(8 * (i + 1)), 1, 32, 16), i / 2));
    machine.gpus.back().memory_numa = 2 + i;
    machine.nics.push_back(nic(i, 400, device(static_cast<std::uint8_t>(8 * i), 3, 32, 16), i / 2));
    link(machine, {DeviceKind::gpu, i}, sw(i));
    link(machine, {DeviceKind::nic, i}, sw(i));
    machine.links.push_back({.from = {DeviceKind::gpu, i},
                             .to = node(i / 2),
                             .kind = LinkKind::c2c,
                             .count = 1,
                             .GBps = 370});
  }
  return machine;
}

Machine storage() {
  Machine machine;
  machine.name = "storage";
  machine.numa = {{.id = 0,
                   .cpus = *CpuSet::from_list("0-15"),
                   .memory = std::uint64_t{64} << 30,
                   .socket = 0}};
  for (int i = 0; i < 2; ++i) {
    Nic eth;
    eth.name = fmt::format("eth{}", i);
    eth.kind = NicKind::ethernet;
    eth.state = i == 0 ? NicState::active : NicState::down;
    eth.rate_Gbps = 25;
    eth.pci = device(0, static_cast<std::uint8_t>(0x41 + i), 8, 8);
    machine.nics.push_back(eth);
    link(machine, {DeviceKind::nic, i}, node(0));
  }
  return machine;
}

}  // namespace lockstep::topology::test
