// What the probe reads of a host whose files a test has built.
#include "topology/probe/probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tests/topology/built_tree.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr DeviceId kGpu0{DeviceKind::gpu, 0};
constexpr DeviceId kSwitch0{DeviceKind::pcie_switch, 0};

Machine probe_of(const test::BuiltTree& tree, Environment environment = {}) {
  return probe({.root = tree.root(),
                .environment = std::move(environment),
                .home = "/home/anna",
                .nvml_library = "/nowhere/libnvidia-ml.so.1"});
}

const Link* link_between(const Machine& machine, DeviceId from, DeviceId to) {
  const auto found = std::ranges::find_if(
      machine.links, [&](const Link& link) { return link.from == from && link.to == to; });
  return found == machine.links.end() ? nullptr : &*found;
}

auto code_is(const char* code) {
  return Field("code", &Finding::code, code);
}

TEST(Probe, CpuFamilyIsInNcclsCount) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Cpu cpu = probe_of(tree).cpu;
  EXPECT_EQ(cpu.vendor, "AuthenticAMD");
  EXPECT_EQ(cpu.model, "AMD EPYC 9354 32-Core Processor");
  EXPECT_EQ(cpu.architecture, "x86_64");
  EXPECT_EQ(cpu.family, 175);
  EXPECT_EQ(cpu.model_number, 17);
  EXPECT_EQ(cpu.sockets, 2);
  EXPECT_EQ(cpu.cores, 4);
  EXPECT_EQ(cpu.threads, 4);
}

TEST(Probe, CountsComeFromCpuinfoWhereSysIsHidden) {
  test::BuiltTree tree;
  std::string cpuinfo;
  for (int cpu = 0; cpu < 8; ++cpu)
    cpuinfo +=
        fmt::format("processor : {}\nvendor_id : GenuineIntel\nphysical id : 0\ncore id : {}\n\n",
                    cpu, cpu / 2);
  tree.file("/proc/cpuinfo", cpuinfo).file("/proc/meminfo", "MemTotal: 100 kB\n");
  const Machine machine = probe_of(tree);
  EXPECT_EQ(machine.cpu.sockets, 1);
  EXPECT_EQ(machine.cpu.cores, 4);
  EXPECT_EQ(machine.cpu.threads, 8);
  ASSERT_THAT(machine.numa, SizeIs(1));
  EXPECT_EQ(machine.numa[0].id, -1);
  EXPECT_EQ(machine.numa[0].cpus.to_list(), "0-7");
  EXPECT_EQ(machine.numa[0].memory, 102400);
  EXPECT_THAT(machine.findings, Contains(Field("message", &Finding::message,
                                               HasSubstr("the NUMA nodes could not be read"))));
}

TEST(Probe, ArmProcessorsAreNamedByTheirImplementer) {
  test::BuiltTree tree;
  tree.file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n");
  const Cpu cpu = probe_of(tree).cpu;
  EXPECT_EQ(cpu.architecture, "arm64");
  EXPECT_EQ(cpu.vendor, "0x41");
  EXPECT_EQ(cpu.family, std::nullopt);
}

TEST(Probe, NodesOfMemoryOnlyHaveNoCpus) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Machine machine = probe_of(tree);
  ASSERT_THAT(machine.numa, SizeIs(3));
  EXPECT_EQ(machine.numa[0].cpus.to_list(), "0-1");
  EXPECT_EQ(machine.numa[0].memory, 2048 * 1024);
  EXPECT_EQ(machine.numa[1].socket, 1);
  EXPECT_TRUE(machine.numa[2].cpus.empty());
  EXPECT_EQ(machine.numa[2].memory, 4096 * 1024);
  EXPECT_NE(link_between(machine, {DeviceKind::numa, 0}, {DeviceKind::numa, 1}), nullptr);
  EXPECT_EQ(link_between(machine, {DeviceKind::numa, 0}, {DeviceKind::numa, 2}), nullptr);
}

TEST(Probe, SwitchesAreUpstreamPortsAndSharedByTheirDevices) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Machine machine = probe_of(tree);
  ASSERT_THAT(machine.gpus, SizeIs(1));
  EXPECT_EQ(to_string(*machine.gpus[0].pci.address), "0000:03:00.0");
  EXPECT_EQ(machine.gpus[0].numa, 0);
  ASSERT_THAT(machine.switches, SizeIs(1));
  EXPECT_EQ(to_string(*machine.switches[0].pci.address), "0000:01:00.0");
  EXPECT_NE(link_between(machine, kGpu0, kSwitch0), nullptr);
  EXPECT_NE(link_between(machine, {DeviceKind::nic, 0}, kSwitch0), nullptr);
  EXPECT_NE(link_between(machine, kSwitch0, {DeviceKind::numa, 0}), nullptr);
}

TEST(Probe, LinksAreTheLesserOfDeviceAndPort) {
  test::BuiltTree tree;
  test::build_server(tree);
  tree.file("/sys/bus/pci/devices/0000:02:00.0/max_link_width", "4\n");
  const PcieLink link = probe_of(tree).gpus.at(0).pci.link;
  EXPECT_EQ(link.max_speed, 16);
  EXPECT_EQ(link.max_width, 4);
  EXPECT_EQ(link.speed, 8);
  EXPECT_EQ(link.width, 8);
  EXPECT_EQ(link.as_written, "16.0 GT/s PCIe");
}

TEST(Probe, AnUnknownLinkSpeedStaysUnknown) {
  test::BuiltTree tree;
  test::build_server(tree);
  tree.file("/sys/bus/pci/devices/0000:03:00.0/max_link_speed", "Unknown\n");
  tree.file("/sys/bus/pci/devices/0000:03:00.0/max_link_width", "255\n");
  const PcieLink link = probe_of(tree).gpus.at(0).pci.link;
  EXPECT_EQ(link.max_speed, std::nullopt);
  EXPECT_EQ(link.max_width, std::nullopt);
  EXPECT_EQ(link.as_written, "Unknown");
}

TEST(Probe, AdaptersComeInNaturalOrderWithTheirPorts) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Machine machine = probe_of(tree);
  ASSERT_THAT(machine.nics, SizeIs(3));
  const Nic& nic = machine.nics[0];
  EXPECT_EQ(nic.name, "mlx5_2");
  EXPECT_EQ(nic.kind, NicKind::infiniband);
  EXPECT_EQ(nic.state, NicState::active);
  EXPECT_EQ(nic.physical_state, "LinkUp");
  EXPECT_EQ(nic.rate_Gbps, 400);
  EXPECT_EQ(nic.port, 1);
  EXPECT_EQ(nic.netdev, "ib0");
  EXPECT_EQ(nic.board, "MT4129");
  EXPECT_EQ(nic.guid, "0002:c903:00aa:0000");
  EXPECT_FALSE(nic.virtual_function);
  ASSERT_THAT(nic.gids, SizeIs(1)) << "an entry of zeros is no GID";
  EXPECT_EQ(nic.gids[0].type, "IB");
  EXPECT_EQ(machine.nics[1].name, "mlx5_10");
  EXPECT_EQ(machine.nics[2].name, "eth0");
}

TEST(Probe, VirtualFunctionsAreMarked) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Machine machine = probe_of(tree);
  EXPECT_TRUE(machine.nics.at(1).virtual_function);
  EXPECT_FALSE(machine.nics.at(2).virtual_function);
}

TEST(Probe, RoceGidsHaveTheirTypeAndInterface) {
  test::BuiltTree tree;
  test::build_server(tree);
  const std::string port = "/sys/class/infiniband/mlx5_2/ports/1";
  tree.file(port + "/link_layer", "Ethernet\n");
  tree.file(port + "/gids/3", "0000:0000:0000:0000:0000:ffff:0b00:0048\n");
  tree.file(port + "/gid_attrs/types/3", "RoCE v2\n");
  tree.file(port + "/gid_attrs/ndevs/3", "ens5np0\n");
  // What cannot be read as a file stands for the kernel's EINVAL.
  tree.file(port + "/gids/5", "0000:0000:0000:0000:0000:ffff:0b00:0049\n");
  tree.folder(port + "/gid_attrs/types/5");
  const Nic nic = probe_of(tree).nics.at(0);
  EXPECT_EQ(nic.kind, NicKind::roce);
  ASSERT_THAT(nic.gids, SizeIs(3));
  EXPECT_EQ(nic.gids[0].type, "RoCE v1");
  EXPECT_EQ(nic.gids[1].index, 3);
  EXPECT_EQ(nic.gids[1].type, "RoCE v2");
  EXPECT_EQ(nic.gids[1].netdev, "ens5np0");
  EXPECT_TRUE(nic.gids[1].readable);
  EXPECT_FALSE(nic.gids[2].readable);
  EXPECT_EQ(nic.netdev, "ens5np0");
}

TEST(Probe, DomainsOfFiveDigitsNestAsAnyOther) {
  test::BuiltTree tree;
  test::build_server(tree);
  const Machine machine = probe_of(tree);
  const Nic& nic = machine.nics.at(2);
  EXPECT_EQ(to_string(*nic.pci.address), "10000:01:00.0");
  EXPECT_EQ(nic.numa, 1);
  EXPECT_EQ(nic.rate_Gbps, 25);
  EXPECT_EQ(nic.state, NicState::active);
  EXPECT_NE(link_between(machine, {DeviceKind::nic, 2}, {DeviceKind::numa, 1}), nullptr);
}

TEST(Probe, KindsOfInterfacesAreToldApart) {
  test::BuiltTree tree;
  const auto add = [&tree](const std::string& name, std::string_view file, std::string_view text) {
    tree.file("/sys/class/net/" + name + "/flags", "0x1003\n");
    tree.file("/sys/class/net/" + name + "/operstate", "up\n");
    tree.file("/sys/class/net/" + name + "/" + std::string(file), text);
  };
  add("lo", "type", "772\n");
  add("docker0", "bridge/stp_state", "0\n");
  add("bond0", "bonding/mode", "802.3ad 4\n");
  add("eth0.7", "uevent", "DEVTYPE=vlan\nINTERFACE=eth0.7\n");
  add("vx1", "uevent", "DEVTYPE=vxlan\n");
  add("wg0", "type", "65534\n");
  add("veth3", "ifindex", "9\n");
  add("veth3", "iflink", "2\n");
  add("dummy0", "ifindex", "4\n");
  add("dummy0", "iflink", "4\n");
  tree.file("/sys/class/net/bonding_masters", "bond0\n");
  tree.link("/sys/class/net/veth3/master", "/sys/class/net/docker0");
  tree.file("/sys/class/net/dummy0/operstate", "down\n");
  tree.file("/proc/sys/net/ipv4/conf/all/arp_ignore", "0\n");
  tree.file("/proc/sys/net/ipv4/conf/bond0/arp_ignore", "1\n");
  tree.file("/proc/sys/net/ipv4/conf/dummy0/arp_ignore", "0\n");
  std::map<std::string, InterfaceKind> kinds;
  const Machine machine = probe_of(tree);
  for (const Interface& interface : machine.interfaces) kinds[interface.name] = interface.kind;
  EXPECT_EQ(kinds, (std::map<std::string, InterfaceKind>{{"lo", InterfaceKind::loopback},
                                                         {"docker0", InterfaceKind::bridge},
                                                         {"bond0", InterfaceKind::bond},
                                                         {"eth0.7", InterfaceKind::vlan},
                                                         {"vx1", InterfaceKind::vxlan},
                                                         {"wg0", InterfaceKind::tunnel},
                                                         {"veth3", InterfaceKind::veth},
                                                         {"dummy0", InterfaceKind::unknown}}));
  EXPECT_THAT(machine.interfaces,
              Contains(testing::AllOf(Field(&Interface::name, "veth3"),
                                      Field(&Interface::master, "docker0"),
                                      Field(&Interface::up, std::optional(true)))));
  EXPECT_THAT(machine.interfaces,
              Contains(testing::AllOf(Field(&Interface::name, "dummy0"),
                                      Field(&Interface::up, std::optional(false)))));
  EXPECT_THAT(machine.nics, IsEmpty()) << "none of them is an adapter";
  for (const Interface& interface : machine.interfaces) {
    const bool is_known = interface.name == "bond0" || interface.name == "dummy0";
    EXPECT_EQ(interface.own_arp, is_known ? std::optional(interface.name == "bond0") : std::nullopt)
        << interface.name;
  }
}

TEST(Probe, WhatNclLooksForInTheSystemIsRead) {
  test::BuiltTree tree;
  test::build_server(tree);
  tree.file("/proc/sys/kernel/hostname", "node07\n");
  tree.file("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
  tree.file("/proc/cmdline", "root=/dev/sda iommu=pt\n");
  tree.file("/proc/self/limits",
            "Max locked memory         unlimited            unlimited   bytes\n");
  tree.file("/proc/mounts",
            "proc /proc proc rw 0 0\nshm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
  tree.file("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
  tree.file("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
  tree.file("/sys/class/dmi/id/product_name", "Virtual Machine\n");
  tree.file("/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
  tree.folder("/sys/kernel/iommu_groups/0").folder("/sys/kernel/iommu_groups/1");
  tree.file("/sys/kernel/mm/memory_peers/nv_mem/version", "1.3\n");
  tree.file("/dev/infiniband/uverbs0", "");
  tree.file("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n");
  tree.file("/proc/driver/nvidia/gpus/0000:03:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-aa\n");
  tree.file("/proc/driver/nvidia/gpus/0000:03:00.0/numa_status", "Node: 2\nNUMA status: online\n");
  const Machine machine = probe_of(tree);
  const System& system = machine.system;
  EXPECT_EQ(machine.name, "node07");
  EXPECT_EQ(system.kernel, "5.15.0-91-generic");
  EXPECT_EQ(system.kernel_command_line, "root=/dev/sda iommu=pt");
  EXPECT_EQ(system.locked_memory, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(system.shared_memory, 65536 * 1024);
  EXPECT_EQ(system.container, true);
  EXPECT_EQ(system.virtual_machine, false) << "the CPU's flags have no hypervisor";
  EXPECT_EQ(system.provider, Provider::azure);
  EXPECT_EQ(system.product, "Microsoft Corporation Virtual Machine");
  EXPECT_EQ(system.iommu_groups, 2);
  EXPECT_EQ(system.peer_memory, true);
  EXPECT_EQ(system.verbs_devices, true);
  EXPECT_EQ(system.dmabuf, true);
  EXPECT_EQ(system.gpu_driver, "550.54.15");
  EXPECT_EQ(machine.gpus.at(0).name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(machine.gpus.at(0).uuid, "GPU-aa");
  EXPECT_EQ(machine.gpus.at(0).memory_numa, 2);
  EXPECT_THAT(machine.findings,
              Contains(Field(&Finding::message, HasSubstr("/nowhere/libnvidia-ml"))));
}

TEST(Probe, SettingsAreInNcclsPrecedenceAndGrammar) {
  test::BuiltTree tree;
  tree.file("/home/anna/.nccl.conf",
            "NCCL_DEBUG=WARN\n# NCCL_ALGO=Ring\nNCCL_IB_HCA==mlx5_0\nA = b\nnonsense\n");
  tree.file("/etc/nccl.conf", "NCCL_IB_TIMEOUT=22\r\nNCCL_IB_TIMEOUT=20");
  const Machine machine = probe_of(tree, {{"NCCL_DEBUG", "INFO"}, {"PATH", "/bin"}});
  EXPECT_THAT(machine.system.settings,
              ElementsAre(Setting{"NCCL_DEBUG", "INFO", "environment"},
                          Setting{"NCCL_DEBUG", "WARN", "/home/anna/.nccl.conf"},
                          Setting{"NCCL_IB_HCA", "=mlx5_0", "/home/anna/.nccl.conf"},
                          Setting{"A ", " b", "/home/anna/.nccl.conf"},
                          Setting{"NCCL_IB_TIMEOUT", "22\r", "/etc/nccl.conf"},
                          Setting{"NCCL_IB_TIMEOUT", "20", "/etc/nccl.conf"}));
}

TEST(Probe, LinesThatNcclDoesNotTakeAreNamedWithTheirPlace) {
  test::BuiltTree tree;
  tree.file("/home/anna/.nccl.conf", "NCCL_DEBUG=WARN\nexport NCCL_ALGO=Ring\n");
  tree.file("/cluster/nccl.conf", "# ours\n NCCL_PROTO=Simple\n");
  tree.file("/etc/nccl.conf", "NCCL_SOCKET_IFNAME=\"eth0\"\nNCCL_NET_PLUGIN={{path}}\n");
  const auto places = [](const Machine& machine) {
    std::vector<std::string> found;
    for (const Finding& finding : machine.findings) {
      if (finding.where.find(".conf:") != std::string::npos)
        found.push_back(finding.code + " " + finding.where);
    }
    return found;
  };
  const Machine own = probe_of(tree, {});
  EXPECT_THAT(places(own), ElementsAre("conf-line-ignored /home/anna/.nccl.conf:2",
                                       "conf-value-literal /etc/nccl.conf:1",
                                       "value-unfilled /etc/nccl.conf:2"));
  EXPECT_THAT(own.system.settings,
              ElementsAre(Setting{"NCCL_DEBUG", "WARN", "/home/anna/.nccl.conf"},
                          Setting{"NCCL_SOCKET_IFNAME", "\"eth0\"", "/etc/nccl.conf"},
                          Setting{"NCCL_NET_PLUGIN", "{{path}}", "/etc/nccl.conf"}));
  EXPECT_THAT(places(probe_of(tree, {{"NCCL_CONF_FILE", "/cluster/nccl.conf"}})),
              Contains("conf-line-ignored /cluster/nccl.conf:2"));
}

TEST(Probe, ANamedConfFileHidesTheUsersOwn) {
  test::BuiltTree tree;
  tree.file("/home/anna/.nccl.conf", "NCCL_DEBUG=WARN\n");
  tree.file("/cluster/nccl.conf", "NCCL_ALGO=Tree\n");
  const Machine named = probe_of(tree, {{"NCCL_CONF_FILE", "/cluster/nccl.conf"}});
  EXPECT_THAT(named.system.settings,
              ElementsAre(Setting{"NCCL_CONF_FILE", "/cluster/nccl.conf", "environment"},
                          Setting{"NCCL_ALGO", "Tree", "/cluster/nccl.conf"}));
  const Machine missing = probe_of(tree, {{"NCCL_CONF_FILE", "~/nccl.conf"}});
  EXPECT_THAT(missing.system.settings, SizeIs(1));
  EXPECT_THAT(missing.findings, Contains(code_is("conf-file-missing")));
}

TEST(Probe, NcclsVersionIsThatOfTheLibraryFirstFound) {
  test::BuiltTree tree;
  tree.file("/opt/nccl/lib/libnccl.so.2.28.9", "ELF");
  tree.link("/opt/nccl/lib/libnccl.so.2", "/opt/nccl/lib/libnccl.so.2.28.9");
  tree.file("/usr/lib64/libnccl.so.2", "ELF NCCL version %d NCCL version 2.21.5+cuda12.4");
  tree.file("/etc/ld.so.conf", "# where\ninclude ld.so.conf.d/*.conf\n");
  const Machine second = probe_of(tree);
  EXPECT_EQ(second.system.nccl_library, "/usr/lib64/libnccl.so.2");
  EXPECT_EQ(second.system.nccl, "2.21.5");
  tree.file("/etc/ld.so.conf.d/nccl.conf", "/opt/nccl/lib\n");
  const Machine first = probe_of(tree);
  EXPECT_EQ(first.system.nccl_library, "/opt/nccl/lib/libnccl.so.2");
  EXPECT_EQ(first.system.nccl, "2.28.9");
  const Machine path = probe_of(tree, {{"LD_LIBRARY_PATH", "/none:/usr/lib64"}});
  EXPECT_EQ(path.system.nccl, "2.21.5");
}

TEST(Probe, AnEmptyRootSaysWhatItCouldNotRead) {
  const test::BuiltTree tree;
  const Machine machine = probe_of(tree);
  EXPECT_EQ(machine.cpu.threads, std::nullopt);
  EXPECT_THAT(machine.numa, IsEmpty());
  EXPECT_THAT(machine.nics, IsEmpty());
  EXPECT_EQ(machine.system.container, std::nullopt);
  EXPECT_EQ(machine.system.iommu_groups, std::nullopt);
  EXPECT_EQ(machine.system.peer_memory, std::nullopt);
  for (const char* path :
       {"/proc/cpuinfo", "/sys/devices/system/node", "/sys/bus/pci/devices", "/sys/class/net"}) {
    EXPECT_THAT(machine.findings,
                Contains(testing::AllOf(code_is("unreadable"), Field(&Finding::where, path))));
  }
  EXPECT_THAT(machine.findings,
              Contains(testing::AllOf(code_is("no-gpu"),
                                      Field(&Finding::message, HasSubstr("cannot be told")))));
  for (const Finding& finding : machine.findings) EXPECT_EQ(finding.severity, Severity::info);
}

TEST(Probe, ARootThatDoesNotExistIsAnEmptyHost) {
  const Machine machine = probe({.root = "/nowhere/at/all", .environment = Environment()});
  EXPECT_THAT(machine.gpus, IsEmpty());
  EXPECT_THAT(machine.findings, Not(IsEmpty()));
}

TEST(Probe, LinksThatLeadOutOfTheRootAreNotFollowed) {
  test::BuiltTree tree;
  tree.folder("/proc");
  std::filesystem::create_symlink("/proc/cpuinfo", tree.root() / "proc/cpuinfo");
  EXPECT_EQ(probe_of(tree).cpu.threads, std::nullopt);
}

// A configuration space with a capability at 0x100 and access control at 0x148, of this control.
std::string configuration(char control) {
  std::string bytes(4096, '\0');
  bytes.replace(0x100, 4, "\x01\x00\x81\x14", 4);
  bytes.replace(0x148, 8, std::string("\x0d\x00\x01\x00\x1f\x00", 6) + control + '\0');
  return bytes;
}

TEST(Probe, AccessControlOfSwitchesAndPortsIsReadWhereRootMay) {
  test::BuiltTree tree;
  test::build_server(tree);
  tree.file("/sys/bus/pci/devices/0000:01:00.0/config", configuration('\0'));
  tree.file("/sys/bus/pci/devices/0000:00:01.0/config", configuration('\x1d'));
  tree.file("/sys/bus/pci/devices/0000:02:00.0/config", configuration('\0'));
  tree.file("/sys/bus/pci/devices/0000:02:01.0/config", configuration('\0').substr(0, 64));
  const Machine machine = probe_of(tree);
  ASSERT_THAT(machine.switches, SizeIs(2)) << "the switch, and the port whose control is on";
  ASSERT_TRUE(machine.switches[0].access_control);
  EXPECT_FALSE(machine.switches[0].access_control->request_redirect);
  EXPECT_EQ(to_string(*machine.switches[1].pci.address), "0000:00:01.0");
  EXPECT_TRUE(machine.switches[1].access_control->request_redirect);
  EXPECT_TRUE(machine.switches[1].access_control->completion_redirect);
  EXPECT_TRUE(machine.switches[1].access_control->upstream_forwarding);
  EXPECT_TRUE(machine.switches[1].access_control->source_validation);
}

TEST(Probe, WithoutRootAccessControlIsNotKnown) {
  test::BuiltTree tree;
  test::build_server(tree);
  tree.file("/sys/bus/pci/devices/0000:01:00.0/config", std::string(64, '\0'));
  EXPECT_EQ(probe_of(tree).switches.at(0).access_control, std::nullopt);
}

TEST(Probe, AnUnknownNodeIsSaidAndNotGuessed) {
  test::BuiltTree tree;
  test::build_server(tree);
  for (const char* address : {"0000:01:00.0", "0000:03:00.0"})
    tree.file(fmt::format("/sys/bus/pci/devices/{}/numa_node", address), "-1\n");
  const Machine machine = probe_of(tree);
  EXPECT_EQ(machine.gpus.at(0).numa, std::nullopt);
  EXPECT_THAT(machine.findings, Contains(code_is("unknown-locality")));
}

}  // namespace
}  // namespace lockstep::topology
