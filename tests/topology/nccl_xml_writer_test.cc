#include "topology/nccl_xml_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/topology/machines.h"
#include "topology/paths.h"
#include "topology/readers/nccl_xml.h"

namespace lockstep::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine read_back(const std::string& text) {
  return read_nccl_xml({"written.xml", text}).machine;
}

TEST(NcclXmlWriter, AMachineReadsBackAsItIs) {
  for (const Machine& machine : {test::hgx_h100(), test::workstation()}) {
    const Machine again = read_back(write_nccl_xml(machine, NcclXmlForm::full));
    for (const Finding& finding : again.findings) ADD_FAILURE() << finding.message;
    ASSERT_EQ(again.gpus.size(), machine.gpus.size());
    ASSERT_EQ(again.nics.size(), machine.nics.size());
    EXPECT_EQ(again.switches.size(), machine.switches.size());
    EXPECT_EQ(again.nvswitches.size(), machine.nvswitches.size());
    EXPECT_EQ(again.cpu.model_number, machine.cpu.model_number);
    for (std::size_t i = 0; i < machine.numa.size(); ++i)
      EXPECT_EQ(again.numa[i].cpus, machine.numa[i].cpus);
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
      EXPECT_EQ(again.gpus[i].sm, machine.gpus[i].sm);
      EXPECT_EQ(again.gpus[i].numa, machine.gpus[i].numa);
      EXPECT_EQ(again.gpus[i].gpudirect, machine.gpus[i].gpudirect);
      EXPECT_EQ(again.gpus[i].pci.address, machine.gpus[i].pci.address);
    }
    // Adapters stand in the order of the file, which is that of the tree.
    EXPECT_EQ(again.nics.front().rate_Gbps, machine.nics.front().rate_Gbps);
    for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
      for (std::size_t n = 0; n < machine.nics.size(); ++n) {
        const DeviceId gpu{DeviceKind::gpu, static_cast<int>(a)};
        std::size_t same = 0;
        while (again.nics[same].name != machine.nics[n].name) ++same;
        const Path before = paths_of(machine).between(gpu, {DeviceKind::nic, static_cast<int>(n)});
        const Path after = paths_of(again).between(gpu, {DeviceKind::nic, static_cast<int>(same)});
        EXPECT_EQ(after.kind, before.kind) << machine.nics[n].name;
        EXPECT_EQ(after.GBps, before.GBps) << machine.nics[n].name;
      }
    }
  }
}

TEST(NcclXmlWriter, SpeedsAreSpeltAsNcclKnowsThem) {
  const std::string text = write_nccl_xml(test::hgx_h100(), NcclXmlForm::full);
  EXPECT_THAT(text, HasSubstr("link_speed=\"32.0 GT/s PCIe\" link_width=\"16\""));
  EXPECT_THAT(text, HasSubstr("<net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\""));
  EXPECT_THAT(text, HasSubstr("count=\"5\" tclass=\"0x068000\""));
}

// Two GPUs and two adapters below switches that a hypervisor makes up.
Machine virtual_machine() {
  Machine machine = test::hgx_h100();
  machine.gpus.resize(2);
  machine.nics.resize(2);
  machine.switches.resize(2);
  machine.nvswitches.clear();
  machine.numa.resize(1);
  std::erase_if(machine.links, [](const Link& link) {
    return link.from.index > 1 || link.kind == LinkKind::nvlink;
  });
  for (Switch& each : machine.switches) {
    each.pci.vendor = 0x104c;
    each.pci.device = 0x8232;
    each.pci.link = {.max_speed = 2.5, .speed = 2.5, .max_width = 1, .width = 1, .as_written = ""};
  }
  return machine;
}

TEST(NcclXmlWriter, TheFormForVirtualMachinesHasMadeUpSwitchesOfGen5By16) {
  const std::string text = write_nccl_xml(virtual_machine(), NcclXmlForm::virtual_machine);
  EXPECT_EQ(text,
            R"(<system version="1">
  <cpu numaid="0" affinity="000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" subsystem_device="0x0000">
      <pci busid="0000:12:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16" />
      <pci busid="0000:13:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16" />
    </pci>
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16" vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" subsystem_device="0x0000">
      <pci busid="0000:22:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16" />
      <pci busid="0000:23:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16" />
    </pci>
  </cpu>
</system>
)");
  const Machine again = read_back(text);
  EXPECT_TRUE(again.findings.empty());
  const Path path = paths_of(again).between({DeviceKind::gpu, 0}, {DeviceKind::nic, 0});
  EXPECT_EQ(path.kind, PathKind::PIX);
  EXPECT_EQ(path.GBps, std::nullopt) << "how fast the adapters are NCCL finds out itself";
}

TEST(NcclXmlWriter, InnerBroadcomSwitchesAreNotMadeUpAnew) {
  Machine machine = virtual_machine();
  for (Switch& each : machine.switches) {
    each.pci.vendor = each.pci.subsystem_vendor = 0x1000;
    each.pci.device = 0xc030;
  }
  machine.switches[0].pci.subsystem_device = 0x0072;
  machine.switches[1].pci.subsystem_device = 0x1003;
  for (Link& link : machine.links) {
    if (link.from == DeviceId{DeviceKind::pcie_switch, 1}) link.to = {DeviceKind::pcie_switch, 0};
  }
  const std::string text = write_nccl_xml(machine, NcclXmlForm::virtual_machine);
  EXPECT_THAT(text, HasSubstr("ffff:ff:01.0"));
  EXPECT_THAT(text, Not(HasSubstr("ffff:ff:02.0")));
  EXPECT_EQ(paths_of(read_back(text)).between({DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}).kind,
            PathKind::PIX);
}

TEST(NcclXmlWriter, MoreSwitchesThanABusHasGoOnWithTheNext) {
  Machine machine = test::workstation();
  machine.links.clear();
  machine.gpus.resize(40, machine.gpus.front());
  for (int i = 0; i < 40; ++i) {
    machine.gpus[static_cast<std::size_t>(i)].pci.address =
        PciAddress{1, static_cast<std::uint8_t>(i), 0, 0};
    machine.switches.emplace_back();
    const DeviceId port{DeviceKind::pcie_switch, i};
    machine.links.push_back({{DeviceKind::gpu, i}, port, LinkKind::pcie, 1, std::nullopt});
    machine.links.push_back({port, {DeviceKind::numa, 0}, LinkKind::pcie, 1, std::nullopt});
  }
  const std::string text = write_nccl_xml(machine, NcclXmlForm::virtual_machine);
  EXPECT_THAT(text, HasSubstr("ffff:ff:1f.0"));
  EXPECT_THAT(text, HasSubstr("ffff:fe:01.0"));
  EXPECT_EQ(read_back(text).switches.size(), 40U);
}

TEST(NcclXmlWriter, DevicesThatHangOffNothingStandInAnUnnumberedCpu) {
  Machine machine = test::workstation();
  machine.links.clear();
  const Machine again = read_back(write_nccl_xml(machine, NcclXmlForm::full));
  EXPECT_EQ(again.gpus.size(), 4U);
  EXPECT_EQ(again.gpus[0].numa, std::nullopt);
  EXPECT_NE(find_numa(again, -1), nullptr);
}

TEST(NcclXmlWriter, AMachineOfWhichOnlySettingsAreKnownIsRefused) {
  Machine machine;
  machine.name = "job";
  machine.system.settings = {{"NCCL_DEBUG", "INFO", "job.env"}};
  for (const NcclXmlForm form : {NcclXmlForm::full, NcclXmlForm::virtual_machine}) {
    try {
      (void)write_nccl_xml(machine, form);
      ADD_FAILURE() << "an empty file is written";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("nothing to write"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("of job"), std::string::npos);
    }
  }
}

TEST(NcclXmlWriter, ALoopOfSwitchesEnds) {
  Machine machine = test::workstation();
  machine.links.clear();
  machine.switches.resize(2);
  for (int i = 0; i < 2; ++i)
    machine.links.push_back({{DeviceKind::pcie_switch, i},
                             {DeviceKind::pcie_switch, 1 - i},
                             LinkKind::pcie,
                             1,
                             std::nullopt});
  EXPECT_THAT(write_nccl_xml(machine, NcclXmlForm::full), HasSubstr("<system"));
}

}  // namespace
}  // namespace lockstep::topology
