#include "topology/readers/hwloc_xml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/readers/hwloc_objects.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Two GPUs of one switch with an NVSwitch between them, an adapter with a virtual function.
constexpr std::string_view kVersion3 = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.7" future="yes">
 <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000003">
  <info name="DMIProductName" value="Box"/><info name="DMISysVendor" value="Maker"/>
  <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000001">
   <info name="CPUVendor" value="AuthenticAMD"/><info name="CPUFamilyNumber" value="23"/>
   <info name="CPUModelNumber" value="49"/><info name="CPUModel" value="AMD EPYC 7742"/>
   <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" local_memory="4096"/>
   <object type="Core"><object type="PU" os_index="0"/><object type="PU" os_index="1"/></object>
   <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-09]">
    <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0" pci_type="0604 [1022:1483] [0000:0000] 00 00" pci_link_speed="31.507692">
     <object type="Bridge" bridge_type="1-1" pci_busid="0000:01:00.0" pci_type="0604 [1000:c010] [0000:0000] 00 00" pci_link_speed="31.507692">
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:00.0" pci_type="0604 [1000:c010] [0000:0000] 00 00" pci_link_speed="31.507692">
       <object type="PCIDev" gp_index="31" pci_busid="0000:03:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1 00" pci_link_speed="31.507692">
        <object type="OSDev" gp_index="41" name="nvml0" subtype="NVML" osdev_type="12">
         <info name="GPUModel" value="NVIDIA A100-SXM4-40GB"/><info name="NVIDIAUUID" value="GPU-0"/></object>
        <object type="OSDev" name="cuda0" osdev_type="12"><info name="CUDAGlobalMemorySize" value="1024KiB"/></object>
       </object></object>
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:01.0" pci_type="0604 [1000:c010] [0000:0000] 00 00" pci_link_speed="0.000000">
       <object type="PCIDev" gp_index="32" pci_busid="0000:04:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1 00" pci_link_speed="15.753846">
        <object type="OSDev" gp_index="42" name="nvml1" osdev_type="12"><info name="GPUModel" value="NVIDIA A100-SXM4-40GB"/></object>
       </object></object>
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:02.0" pci_type="0604 [1000:c010] [0000:0000] 00 00">
       <object type="PCIDev" gp_index="33" pci_busid="0000:05:00.0" pci_type="0680 [10de:1af1] [10de:0000] a1 00"/></object>
     </object></object></object>
  </object>
  <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002">
   <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" local_memory="8192"/>
   <object type="Core"><object type="PU" os_index="2"/><object type="PU" os_index="3"/></object>
   <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[80-85]">
    <object type="Bridge" bridge_type="1-1" pci_busid="0000:80:01.0" pci_type="0604 [1022:1483] [0000:0000] 00 00">
     <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0200 [15b3:101b] [15b3:0000] 00 00">
      <object type="OSDev" name="ib3" osdev_type="16"><info name="Address" value="00:00:10:29:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:00:00:01"/><info name="Port" value="1"/></object>
      <object type="OSDev" name="mlx5_3" osdev_type="48"><info name="NodeGUID" value="b8ce:f603:0000:0001"/>
       <info name="Port1State" value="4"/><info name="Port1LID" value="0x7"/><info name="Port2State" value="1"/><info name="Port2LID" value="0x0"/></object>
     </object>
     <object type="PCIDev" pci_busid="0000:81:00.1" pci_type="0200 [15b3:101c] [15b3:0000] 00 00">
      <info name="PCIDevice" value="MT28908 Family [ConnectX-6 Virtual Function]"/>
      <object type="OSDev" name="mlx5_4" osdev_type="48"><info name="Port1State" value="4"/></object></object>
     <object type="PCIDev" pci_busid="0000:81:00.2" pci_type="0200 [15b3:101c] [15b3:0000] 00 00"/>
    </object></object>
  </object>
 </object>
 <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">
  <indexes length="26">OSDev:41 OSDev:42 </indexes><indexes length="10">PCIDev:33 </indexes>
  <u64values length="1">0 50000 150000 50000 0 </u64values><u64values length="1">150000 150000 150000 0</u64values>
 </distances2hetero>
 <info name="HostName" value="box1"/><info name="Architecture" value="x86_64"/>
</topology>
)";

// lstopo 1.11: no version, nodes contain sockets, kinds of devices are numbers.
constexpr std::string_view kVersion1 = R"(<topology>
 <object type="Machine" os_index="0" cpuset="0x00000003" local_memory="0">
  <info name="Architecture" value="ppc64le"/>
  <object type="NUMANode" os_index="8" cpuset="0x00000003" nodeset="0x00000100" local_memory="2048">
   <object type="Socket" os_index="5" cpuset="0x00000003" nodeset="0x00000100">
    <object type="Core"><object type="PU"/></object><object type="Core"><object type="PU"/></object></object>
   <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-01]">
    <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0207 [15b3:1013] [0:0] 00" pci_link_speed="7.876923">
     <object type="OSDev" name="ib0" osdev_type="2"/><object type="OSDev" name="mlx5_0" osdev_type="3"><info name="Port1State" value="1"/></object>
    </object></object>
  </object></object></topology>)";

Machine read_hwloc(std::string_view text) {
  return read_hwloc_xml({.name = "box.xml", .text = std::string(text)}).machine;
}

Link pcie(DeviceId from, DeviceId to, std::optional<double> GBps) {
  return {.from = from, .to = to, .kind = LinkKind::pcie, .count = 1, .GBps = GBps};
}

TEST(HwlocXml, ProcessorsAndNodes) {
  const Machine machine = read_hwloc(kVersion3);
  EXPECT_EQ(machine.name, "box1");
  EXPECT_EQ(machine.system.product, "Maker Box");
  EXPECT_EQ(machine.cpu.architecture, "x86_64");
  EXPECT_EQ(machine.cpu.family, 143) << "NCCL's count of AMD's 23";
  EXPECT_EQ(machine.cpu.model_number, 49);
  EXPECT_EQ(machine.cpu.sockets, 2);
  EXPECT_EQ(machine.cpu.cores, 2);
  EXPECT_EQ(machine.cpu.threads, 4);
  ASSERT_THAT(machine.numa, SizeIs(2));
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "2-3");
  EXPECT_EQ(machine.numa[1].memory, 8192);
  EXPECT_EQ(machine.numa[1].socket, 1);
}

TEST(HwlocXml, GpusHangOffTheSwitchesUpstreamPort) {
  const Machine machine = read_hwloc(kVersion3);
  ASSERT_THAT(machine.gpus, SizeIs(2));
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-0");
  EXPECT_EQ(machine.gpus[0].memory, 1024 * 1024);
  EXPECT_EQ(machine.gpus[0].sm, 80);
  EXPECT_EQ(machine.gpus[0].numa, 0);
  ASSERT_THAT(machine.switches, SizeIs(1));
  EXPECT_EQ(to_string(*machine.switches[0].pci.address), "0000:01:00.0");
  const DeviceId port{DeviceKind::pcie_switch, 0};
  EXPECT_THAT(machine.links, Contains(pcie({DeviceKind::gpu, 0}, port, 24.0)));
  EXPECT_THAT(machine.links, Contains(pcie({DeviceKind::gpu, 1}, port, 12.0)));
  EXPECT_THAT(machine.links, Contains(pcie(port, {DeviceKind::numa, 0}, 24.0)));
}

TEST(HwlocXml, NvlinksComeFromTheMatrix) {
  const Machine machine = read_hwloc(kVersion3);
  ASSERT_THAT(machine.nvswitches, SizeIs(1));
  const auto nvlink = [](DeviceId from, DeviceId to, int count) {
    return Link{.from = from, .to = to, .kind = LinkKind::nvlink, .count = count, .GBps = {}};
  };
  EXPECT_THAT(machine.links, Contains(nvlink({DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, 2)));
  EXPECT_THAT(machine.links, Contains(nvlink({DeviceKind::gpu, 0}, {DeviceKind::nvswitch, 0}, 6)));
  EXPECT_THAT(machine.links, Contains(nvlink({DeviceKind::gpu, 1}, {DeviceKind::nvswitch, 0}, 6)));
}

TEST(HwlocXml, PortsAreNicsAndVirtualFunctionsAreNot) {
  const Machine machine = read_hwloc(kVersion3);
  ASSERT_THAT(machine.nics, SizeIs(2));
  EXPECT_EQ(machine.nics[0].name, "mlx5_3");
  EXPECT_EQ(machine.nics[0].netdev, "ib3");
  EXPECT_EQ(machine.nics[0].kind, NicKind::infiniband);
  EXPECT_EQ(machine.nics[0].state, NicState::active);
  EXPECT_EQ(machine.nics[0].numa, 1);
  EXPECT_EQ(machine.nics[1].port, 2);
  EXPECT_EQ(machine.nics[1].state, NicState::down);
  EXPECT_THAT(machine.findings,
              Contains(testing::AllOf(Field(&Finding::code, "virtual-functions"),
                                      Field(&Finding::message, HasSubstr("2 virtual")))));
}

TEST(HwlocXml, VersionOneIsReadToo) {
  const Machine machine = read_hwloc(kVersion1);
  EXPECT_EQ(machine.cpu.architecture, "ppc64");
  EXPECT_EQ(machine.cpu.sockets, 1);
  ASSERT_THAT(machine.numa, SizeIs(1));
  EXPECT_EQ(machine.numa[0].id, 8);
  EXPECT_EQ(machine.numa[0].socket, 5);
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_EQ(machine.nics[0].name, "mlx5_0");
  EXPECT_EQ(machine.nics[0].netdev, "ib0");
  EXPECT_EQ(machine.nics[0].numa, 8);
  EXPECT_EQ(machine.nics[0].state, NicState::down);
  EXPECT_THAT(machine.links, Contains(pcie({DeviceKind::nic, 0}, {DeviceKind::numa, 8}, 6.0)));
}

TEST(HwlocXml, SetsAreWordsOfWhichEmptyOnesAreZero) {
  EXPECT_EQ(parse_hwloc_set("0x0000ffff,,0xff000000")->to_list(), "24-31,64-79");
  EXPECT_EQ(parse_hwloc_set("0xf...f,0x0"), std::nullopt) << "a set without end";
  EXPECT_EQ(parse_hwloc_set("0xzz"), std::nullopt);
}

TEST(HwlocXml, WhatIsNoHwlocFileIsRefusedWithItsLine) {
  EXPECT_TRUE(is_hwloc_xml(kVersion1));
  EXPECT_FALSE(is_hwloc_xml("<system version=\"1\"><cpu/></system>"));
  EXPECT_THROW((void)read_hwloc("<topology></topology>"), ReadError);
  try {
    (void)read_hwloc("\n\n<topology <object type=\"Machine\"");
    FAIL() << "should have been refused";
  } catch (const ReadError& error) {
    EXPECT_GE(error.line(), 3);
    EXPECT_THAT(error.what(), HasSubstr("box.xml:"));
  }
}

TEST(HwlocXml, EveryCutIsReadInPartOrRefused) {
  for (std::size_t length = 0; length < kVersion3.size(); length += 31) {
    try {
      const Machine machine = read_hwloc(kVersion3.substr(0, length));
      EXPECT_LE(machine.gpus.size(), 2);
      if (machine.gpus.size() < 2) {
        EXPECT_THAT(machine.findings, Contains(Field(&Finding::code, "damaged-recording")));
      }
    } catch (const ReadError&) {
    }
  }
}

TEST(HwlocXml, ADeepFileIsReadToItsDepth) {
  std::string text = "<topology version=\"2.0\">";
  constexpr int kDepth = 100000;
  for (int i = 0; i < kDepth; ++i) text += "<object type=\"Group\">";
  for (int i = 0; i < kDepth; ++i) text += "</object>";
  const Machine machine = read_hwloc(text + "</topology>");
  EXPECT_THAT(machine.findings, Contains(Field(&Finding::code, "damaged-recording")));
}

TEST(HwlocXml, EntitiesAreNotExpanded) {
  std::string text = "<!DOCTYPE topology [<!ENTITY a \"xxxxxxxxxx\">";
  for (char name = 'b'; name <= 'k'; ++name) {
    const std::string before = fmt::format("&{};", static_cast<char>(name - 1));
    text += fmt::format("<!ENTITY {} \"{}{}{}{}\">", name, before, before, before, before);
  }
  text +=
      "]><topology version=\"2.0\"><object type=\"Machine\"><info name=\"HostName\" "
      "value=\"&k;\"/></object></topology>";
  EXPECT_EQ(read_hwloc(text).name, "&k;");
}

TEST(HwlocXml, AMatrixOfTheWrongSizeIsLeftOut) {
  std::string text(kVersion3);
  text.replace(text.find("0 50000 150000"), 14, "0");
  const Machine machine = read_hwloc(text);
  EXPECT_THAT(machine.links, testing::Not(Contains(Field(&Link::kind, LinkKind::nvlink))));
  EXPECT_THAT(machine.findings, Contains(Field(&Finding::code, "damaged-recording")));
}

}  // namespace
}  // namespace lockstep::topology
