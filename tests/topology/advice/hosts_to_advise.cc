#include "tests/topology/advice/hosts_to_advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/topology/machines.h"

namespace lockstep::topology::test {
namespace {

DeviceId gpu(int i) {
  return {DeviceKind::gpu, i};
}
DeviceId nic(int i) {
  return {DeviceKind::nic, i};
}

Path path(DeviceId from, DeviceId to, PathKind kind, std::string label = {}) {
  if (label.empty()) label = std::string(to_string(kind));
  return {from, to, kind, std::move(label), std::nullopt};
}

Nic rdma(std::string name, NicKind kind, NicState state = NicState::active) {
  Nic port;
  port.name = std::move(name);
  port.kind = kind;
  port.state = state;
  port.port = 1;
  return port;
}

Interface interface(std::string name, InterfaceKind kind, std::vector<std::string> addresses) {
  return {.name = std::move(name),
          .kind = kind,
          .up = true,
          .addresses = std::move(addresses),
          .master = "",
          .rate_Gbps = std::nullopt,
          .pci = std::nullopt};
}

// Every GPU-NIC pair by `kind_of(gpu, nic)`, NIC pairs of `nic_pairs`.
template <typename KindOf>
PathTable table(const Machine& machine, KindOf kind_of, PathKind nic_pairs) {
  std::vector<Path> paths;
  const int nics = static_cast<int>(machine.nics.size());
  for (int g = 0; g < static_cast<int>(machine.gpus.size()); ++g) {
    for (int n = 0; n < nics; ++n) {
      const auto [kind, label] = kind_of(g, n);
      paths.push_back(path(gpu(g), nic(n), kind, label));
    }
  }
  for (int a = 0; a < nics; ++a) {
    for (int b = a + 1; b < nics; ++b) paths.push_back(path(nic(a), nic(b), nic_pairs));
  }
  return PathTable(std::move(paths));
}

using Kind = std::pair<PathKind, std::string>;
const Kind kPix{PathKind::PIX, "PIX"}, kNode{PathKind::PHB, "NODE"}, kSys{PathKind::SYS, "SYS"},
    kPhb{PathKind::PHB, "PHB"}, kPxb{PathKind::PXB, "PXB"};

}  // namespace

Host hgx_h100_host() {
  Machine machine = hgx_h100();
  auto paths = table(
      machine,
      [](int g, int n) {
        if (g == n) return kPix;
        return g / 4 == (n == 8 ? 0 : n / 4) ? kNode : kSys;
      },
      PathKind::SYS);
  return {std::move(machine), std::move(paths)};
}

Host workstation_host() {
  Machine machine = workstation();
  auto paths = table(
      machine, [](int, int) { return kPhb; }, PathKind::PHB);
  return {std::move(machine), std::move(paths)};
}

Host bonded_front_end() {
  Machine machine;
  machine.name = "node7";
  machine.gpus.resize(8);
  const std::vector<int> rails = {0, 1, 2, 5, 6, 7, 8, 11};
  for (int i = 0; i < 12; ++i) {
    Nic port = rdma(fmt::format("mlx5_{}", i), NicKind::roce);
    port.netdev = fmt::format("enp{}s0", 20 + i);
    if (i == 3 || i == 9) port.netdev = "bond0";
    if (i == 4 || i == 10) port.state = NicState::down;
    machine.nics.push_back(port);
  }
  for (int g = 0; g < 8; ++g) {
    machine.interfaces.push_back(
        interface(fmt::format("enp{}s0", 20 + rails[static_cast<std::size_t>(g)]),
                  InterfaceKind::unknown, {fmt::format("10.0.{}.9/31", 91 + g)}));
  }
  machine.interfaces.push_back(interface("bond0", InterfaceKind::unknown, {"10.1.7.7/29"}));
  auto paths = table(
      machine, [&](int g, int n) { return rails[static_cast<std::size_t>(g)] == n ? kPix : kNode; },
      PathKind::PHB);
  return {std::move(machine), std::move(paths)};
}

Host flat_virtual_machine() {
  Machine machine;
  machine.name = "vm";
  machine.gpus.resize(4);
  for (int i = 0; i < 8; ++i) {
    machine.nics.push_back(rdma(fmt::format("mlx5_{}", i), NicKind::unknown, NicState::unknown));
  }
  auto paths = table(
      machine, [](int, int) { return kPhb; }, PathKind::PHB);
  return {std::move(machine), std::move(paths)};
}

Host container_of_two_gpus() {
  Machine machine;
  machine.name = "pod";
  machine.gpus.resize(2);
  for (int i = 0; i < 8; ++i) {
    machine.nics.push_back(rdma(fmt::format("mlx5_{}", i), NicKind::unknown, NicState::unknown));
  }
  auto paths = table(
      machine, [](int, int n) { return n >= 6 ? kPxb : kSys; }, PathKind::SYS);
  return {std::move(machine), std::move(paths)};
}

Host grace_tray() {
  Machine machine;
  machine.name = "tray";
  machine.gpus.resize(4);
  for (int g = 0; g < 4; ++g) machine.gpus[static_cast<std::size_t>(g)].memory_numa = 2 + 8 * g;
  for (int i = 0; i < 4; ++i) {
    machine.nics.push_back(rdma(fmt::format("mlx5_{}", i), NicKind::infiniband));
  }
  auto paths = table(
      machine, [](int, int) { return kSys; }, PathKind::SYS);
  return {std::move(machine), std::move(paths)};
}

Host slow_virtual_switch() {
  Machine machine;
  machine.name = "guest";
  machine.gpus.resize(2);
  machine.nics.push_back(rdma("mlx5_0", NicKind::infiniband));
  Switch bridge;
  bridge.pci.vendor = 0x104c;
  bridge.pci.device = 0x8232;
  bridge.pci.address = PciAddress{0, 0x65, 0, 0};
  bridge.pci.link.max_speed = 2.5;
  bridge.pci.link.max_width = 1;
  machine.switches.push_back(bridge);
  for (const DeviceId device : {gpu(0), gpu(1), nic(0)}) {
    machine.links.push_back({.from = device,
                             .to = {DeviceKind::pcie_switch, 0},
                             .kind = LinkKind::pcie,
                             .count = 1,
                             .GBps = 48.0});
  }
  auto paths = table(
      machine, [](int, int) { return kPix; }, PathKind::PIX);
  return {std::move(machine), std::move(paths)};
}

Host small_roce() {
  Machine machine;
  machine.name = "roce";
  machine.gpus.resize(2);
  for (int i = 0; i < 2; ++i) {
    machine.nics.push_back(rdma(fmt::format("mlx5_{}", i), NicKind::roce));
    machine.nics.back().rate_Gbps = 200;
    machine.nics.back().netdev = fmt::format("eth{}", i);
  }
  auto paths = table(
      machine, [](int g, int n) { return g == n ? kPix : kNode; }, PathKind::PHB);
  return {std::move(machine), std::move(paths)};
}

const Advice* find(const HostAdvice& advice, std::string_view variable) {
  const auto found = std::find_if(advice.settings.begin(), advice.settings.end(),
                                  [&](const Advice& one) { return one.variable == variable; });
  return found == advice.settings.end() ? nullptr : &*found;
}

std::vector<std::string> newly_set(const HostAdvice& advice) {
  std::vector<std::string> names;
  for (const Advice& one : advice.settings) {
    if (!one.kept) names.push_back(one.variable);
  }
  return names;
}

bool has_finding(const HostAdvice& advice, std::string_view code) {
  return std::any_of(advice.findings.begin(), advice.findings.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

std::string reason_unset(const HostAdvice& advice, std::string_view variable) {
  const auto found = std::find_if(advice.unset.begin(), advice.unset.end(),
                                  [&](const Unset& one) { return one.variable == variable; });
  return found == advice.unset.end() ? std::string() : found->reason;
}

HostAdvice advise_host(const Host& host, const AdviceOptions& options) {
  return advise(host.machine, host.paths, options);
}

}  // namespace lockstep::topology::test
