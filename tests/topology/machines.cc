#include "tests/topology/machines.h"

#include <fmt/format.h>

namespace lockstep::topology::test {
namespace {

PcieLink pcie(double speed, int width) {
  return {.max_speed = speed, .speed = speed, .max_width = width, .width = width, .as_written = ""};
}

PciDevice device(std::uint8_t bus, std::uint32_t class_code, std::uint32_t vendor, PcieLink link) {
  return {.address = PciAddress{0, bus, 0, 0},
          .class_code = class_code,
          .vendor = vendor,
          .device = std::nullopt,
          .subsystem_vendor = std::nullopt,
          .subsystem_device = std::nullopt,
          .link = std::move(link)};
}

NumaNode node(int id, std::string_view cpus) {
  return {
      .id = id, .cpus = *CpuSet::from_list(cpus), .memory = std::uint64_t{1} << 40, .socket = id};
}

void attach(Machine& machine, DeviceId from, DeviceId to) {
  machine.links.push_back(
      {.from = from, .to = to, .kind = LinkKind::pcie, .count = 1, .GBps = std::nullopt});
}

}  // namespace

Machine hgx_h100() {
  Machine machine;
  machine.name = "hgx";
  machine.sources = {"built"};
  machine.cpu = {.architecture = "x86_64",
                 .vendor = "GenuineIntel",
                 .model = "Intel(R) Xeon(R) Platinum 8480+",
                 .family = 6,
                 .model_number = 143,
                 .sockets = 2,
                 .cores = 112,
                 .threads = 224};
  machine.numa = {node(0, "0-55,112-167"), node(1, "56-111,168-223")};
  machine.links.push_back({.from = {DeviceKind::numa, 0},
                           .to = {DeviceKind::numa, 1},
                           .kind = LinkKind::numa,
                           .count = 1,
                           .GBps = std::nullopt});
  for (int i = 0; i < 4; ++i) {
    machine.nvswitches.push_back(
        {.pci = device(static_cast<std::uint8_t>(0xf0 + i), 0x068000, 0x10de, pcie(16, 2)),
         .access_control = std::nullopt,
         .name = ""});
  }
  for (int i = 0; i < 8; ++i) {
    const auto bus = static_cast<std::uint8_t>(0x10 * (i + 1));
    const int numa = i / 4;
    const DeviceId port{DeviceKind::pcie_switch, i};
    machine.switches.push_back({.pci = device(bus, 0x060400, 0x15b3, pcie(32, 16)),
                                .access_control = AccessControl{},
                                .name = ""});
    attach(machine, port, {DeviceKind::numa, numa});

    Gpu gpu;
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.pci = device(static_cast<std::uint8_t>(bus + 2), 0x030200, 0x10de, pcie(32, 16));
    gpu.numa = numa;
    gpu.sm = 90;
    gpu.memory = std::uint64_t{80} << 30;
    gpu.gpudirect = true;
    machine.gpus.push_back(gpu);
    attach(machine, {DeviceKind::gpu, i}, port);
    for (int s = 0; s < 4; ++s) {
      machine.links.push_back({.from = {DeviceKind::gpu, i},
                               .to = {DeviceKind::nvswitch, s},
                               .kind = LinkKind::nvlink,
                               .count = s < 2 ? 5 : 4,
                               .GBps = std::nullopt});
    }

    Nic nic;
    nic.name = fmt::format("mlx5_{}", i);
    nic.pci = device(static_cast<std::uint8_t>(bus + 3), 0x020700, 0x15b3, pcie(32, 16));
    nic.numa = numa;
    nic.kind = NicKind::infiniband;
    nic.state = NicState::active;
    nic.rate_Gbps = 400;
    nic.port = 1;
    nic.netdev = fmt::format("ib{}", i);
    nic.gpudirect = true;
    machine.nics.push_back(nic);
    attach(machine, {DeviceKind::nic, i}, port);
    machine.interfaces.push_back({.name = nic.netdev,
                                  .kind = InterfaceKind::infiniband,
                                  .up = true,
                                  .addresses = {fmt::format("10.4.{}.7/24", i)},
                                  .master = "",
                                  .rate_Gbps = 400,
                                  .pci = nic.pci.address});
  }
  Nic bond;
  bond.name = "mlx5_bond_0";
  bond.pci = device(0x08, 0x020000, 0x15b3, pcie(16, 16));
  bond.numa = 0;
  bond.kind = NicKind::roce;
  bond.state = NicState::active;
  bond.rate_Gbps = 100;
  bond.port = 1;
  bond.netdev = "bond0";
  machine.nics.push_back(bond);
  attach(machine, {DeviceKind::nic, 8}, {DeviceKind::numa, 0});
  machine.interfaces.push_back({.name = "bond0",
                                .kind = InterfaceKind::bond,
                                .up = true,
                                .addresses = {"192.168.7.7/22"},
                                .master = "",
                                .rate_Gbps = 100,
                                .pci = bond.pci.address});
  return machine;
}

Machine workstation() {
  Machine machine;
  machine.name = "desk";
  machine.sources = {"built"};
  machine.cpu = {.architecture = "x86_64",
                 .vendor = "AuthenticAMD",
                 .model = "AMD Ryzen Threadripper PRO 5975WX",
                 .family = 175,
                 .model_number = 8,
                 .sockets = 1,
                 .cores = 32,
                 .threads = 64};
  machine.numa = {node(0, "0-63")};
  for (int i = 0; i < 4; ++i) {
    Gpu gpu;
    gpu.name = "NVIDIA GeForce RTX 3090";
    gpu.pci = device(static_cast<std::uint8_t>(0x21 + 0x20 * i), 0x030000, 0x10de, pcie(16, 16));
    gpu.numa = 0;
    gpu.sm = 86;
    gpu.memory = std::uint64_t{24} << 30;
    gpu.gpudirect = false;
    machine.gpus.push_back(gpu);
    attach(machine, {DeviceKind::gpu, i}, {DeviceKind::numa, 0});
  }
  Nic nic;
  nic.name = "eno1";
  nic.pci = device(0x05, 0x020000, 0x8086, pcie(8, 4));
  nic.numa = 0;
  nic.kind = NicKind::ethernet;
  nic.state = NicState::active;
  nic.rate_Gbps = 10;
  nic.netdev = "eno1";
  machine.nics.push_back(nic);
  attach(machine, {DeviceKind::nic, 0}, {DeviceKind::numa, 0});
  machine.interfaces.push_back({.name = "eno1",
                                .kind = InterfaceKind::physical,
                                .up = true,
                                .addresses = {"192.168.1.5/24"},
                                .master = "",
                                .rate_Gbps = 10,
                                .pci = nic.pci.address});
  return machine;
}

}  // namespace lockstep::topology::test
