// lspci's devices, tree and access control.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/smi_readings.h"
#include "topology/readers/formats.h"
#include "topology/readers/lspci.h"

namespace lockstep::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Machine read_lspci_text(const std::string& text) {
  return read_recording({"lspci.txt", text}).machine;
}

// A root port, a switch of two downstream ports, a GPU and a NIC below it.
const std::string kVerbose =
    "15:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])\n"
    "\tNUMA node: 1\n"
    "\tBus: primary=15, secondary=16, subordinate=1b, sec-latency=0\n"
    "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n"
    "\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n"
    "\tCapabilities: [148 v1] Access Control Services\n"
    "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n"
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl-\n"
    "\tKernel driver in use: pcieport\n"
    "\n"
    "16:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)\n"
    "\tNUMA node: 1\n"
    "\tBus: primary=16, secondary=17, subordinate=1b, sec-latency=0\n"
    "\tCapabilities: [70] Express (v2) Upstream Port, MSI 00\n"
    "\n"
    "17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)\n"
    "\tNUMA node: 1\n"
    "\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0\n"
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n"
    "\n"
    "17:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)\n"
    "\tNUMA node: 1\n"
    "\tBus: primary=17, secondary=19, subordinate=19, sec-latency=0\n"
    "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl-\n"
    "\n"
    "18:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n"
    "\tNUMA node: 1\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n"
    "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\n"
    "\tKernel driver in use: nvidia\n"
    "\n"
    "19:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
    "\tNUMA node: 1\n"
    "\n"
    "1b:00.0 Bridge: NVIDIA Corporation Device 22a3 (rev a1)\n"
    "\tNUMA node: 1\n"
    "\n"
    "20:00.0 VGA compatible controller: Matrox Electronics Systems Ltd. G200eW3 (rev 04)\n";

TEST(Lspci, DevicesAreKnownByTheWordsOfTheClassList) {
  const Machine machine = read_lspci_text(kVerbose);
  ASSERT_EQ(machine.gpus.size(), 1U) << "a server's own display is none";
  EXPECT_EQ(machine.gpus[0].pci.vendor, 0x10deU);
  EXPECT_EQ(machine.gpus[0].pci.device, 0x2330U);
  EXPECT_EQ(machine.gpus[0].pci.class_code, 0x030200U);
  EXPECT_EQ(machine.gpus[0].numa, 1);
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].kind, NicKind::infiniband);
  EXPECT_EQ(machine.nics[0].board, "Mellanox Technologies MT2910 Family [ConnectX-7]");
  EXPECT_EQ(machine.nics[0].name, "");
  EXPECT_EQ(machine.nvswitches.size(), 1U);
  EXPECT_EQ(machine.switches.size(), 4U);
  EXPECT_THAT(machine.findings, IsEmpty());
}

TEST(Lspci, LinksAreThoseOfTheSlotAndThoseOfNow) {
  const Machine machine = read_lspci_text(kVerbose);
  const PcieLink& link = machine.gpus[0].pci.link;
  EXPECT_EQ(link.max_speed, 32);
  EXPECT_EQ(link.speed, 2.5);
  EXPECT_EQ(link.max_width, 16);
  EXPECT_EQ(link.width, 16);
  EXPECT_EQ(link.as_written, "2.5GT/s");
  EXPECT_EQ(machine.switches[0].pci.link.width, 8);
  EXPECT_EQ(machine.nics[0].pci.link.speed, std::nullopt);
}

TEST(Lspci, WhatABridgeControlsIsNotWhatItCould) {
  const Machine machine = read_lspci_text(kVerbose);
  ASSERT_TRUE(machine.switches[0].access_control);
  EXPECT_TRUE(machine.switches[0].access_control->source_validation);
  EXPECT_FALSE(machine.switches[0].access_control->request_redirect);
  EXPECT_FALSE(machine.switches[1].access_control) << "the bridge has none";
  EXPECT_TRUE(machine.switches[2].access_control->request_redirect);
  EXPECT_TRUE(machine.switches[2].access_control->completion_redirect);
  EXPECT_TRUE(machine.switches[2].access_control->upstream_forwarding);
}

TEST(Lspci, ADeviceHangsOffItsSwitchAndTheSwitchOffItsNode) {
  const Machine machine = read_lspci_text(kVerbose);
  const DeviceId upstream{DeviceKind::pcie_switch, 1};
  const DeviceId node{DeviceKind::numa, 1};
  EXPECT_THAT(machine.links,
              ElementsAre(Link{gpu(0), upstream}, Link{upstream, node}, Link{nic(0), upstream},
                          Link{{DeviceKind::nvswitch, 0}, node}));
  EXPECT_EQ(machine.numa.size(), 1U);
}

TEST(Lspci, WithoutRootAccessControlIsUnknownAndNeverFine) {
  std::string text;
  for (const char* device : {"00:01.0 PCI bridge: Intel Corporation Device 352a (rev 04)\n",
                             "01:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n"})
    text += std::string(device) + "\tNUMA node: 0\n\tCapabilities: <access denied>\n\n";
  const Machine machine = read_lspci_text(text);
  EXPECT_EQ(machine.switches.at(0).access_control, std::nullopt);
  EXPECT_EQ(machine.gpus.at(0).pci.link.speed, std::nullopt);
  ASSERT_THAT(codes(machine.findings), ElementsAre("access-control-unknown"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("cannot be told"));
  EXPECT_THAT(machine.findings[0].message, HasSubstr("not run by root"));
  EXPECT_EQ(machine.findings[0].severity, Severity::info);
}

TEST(Lspci, NumbersAreReadWhereTheyStand) {
  const Machine machine = read_lspci_text(
      "0000:00:01.0 PCI bridge [0604]: Red Hat, Inc. QEMU PCIe Root port [1b36:000c]\n"
      "0001:01:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236] (rev a1)\n"
      "10000:02:00.0 Ethernet controller [0200]: Amazon.com, Inc. Elastic Fabric Adapter (EFA) "
      "[1d0f:efa2]\n"
      "03:00.1 Ethernet controller [0200]: Mellanox Technologies ConnectX Family mlx5Gen Virtual "
      "Function [15b3:101e]\n"
      "04:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device "
      "[1002:74a1]\n");
  EXPECT_EQ(machine.switches.at(0).pci.vendor, 0x1b36U);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA Corporation GA102GL [A10]");
  EXPECT_EQ(machine.gpus[0].pci.address, (PciAddress{1, 1, 0, 0}));
  EXPECT_EQ(machine.gpus[1].pci.device, 0x74a1U);
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.nics[0].kind, NicKind::efa);
  EXPECT_EQ(machine.nics[0].pci.address->domain, 0x10000U);
  EXPECT_TRUE(machine.nics[1].virtual_function);
  EXPECT_THAT(machine.links, IsEmpty()) << "the list does not say where a device hangs";
  EXPECT_THAT(machine.findings.at(0).message, HasSubstr("cannot be told"));
}

TEST(Lspci, BusNumbersInACircleEnd) {
  const Machine machine = read_lspci_text(
      "01:00.0 PCI bridge: a\n\tBus: primary=01, secondary=02, subordinate=02\n"
      "02:00.0 PCI bridge: b\n\tBus: primary=02, secondary=01, subordinate=01\n"
      "01:01.0 3D controller: NVIDIA Corporation c\n\tLatency: 0\n"
      "03:00.0 PCI bridge: d\n\tBus: primary=03, secondary=03, subordinate=03\n"
      "03:01.0 3D controller: NVIDIA Corporation e\n\tLatency: 0\n");
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_LE(machine.links.size(), 6U);
}

TEST(Lspci, ADeviceThatIsListedTwiceIsReadOnce) {
  const Machine machine = read_lspci_text(
      "01:00.0 3D controller: NVIDIA Corporation c\n01:00.0 3D controller: NVIDIA Corporation c\n");
  EXPECT_EQ(machine.gpus.size(), 1U);
  EXPECT_THAT(codes(machine.findings), Contains("device-twice"));
}

}  // namespace
}  // namespace lockstep::topology
