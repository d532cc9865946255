// Topology files of our own, whole, partial, wrong and damaged.
#include "topology/readers/nccl_xml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "topology/paths.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kFile = R"(<?xml version="1.0"?>
<!-- two GPUs and a card of two ports -->
<system version="1">
  <cpu numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" host_hash="0x1">
    <pci busid="0000:10:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0072" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:12:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:22:00.0" count="4" tclass="0x030200"/>
          <nvlink target="fffffff:ffff:ff" count="14" tclass="0x068000"/>
          <c2c bw="25000" count="8"/>
        </gpu>
      </pci>
      <pci busid="0000:13:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="16 GT/s" link_width="8">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" latency="0.000000" guid="0x12" maxconn="131072" gdr="1"/>
          <net name="mlx5_1" dev="1" speed="100000" port="2" latency="0.000000" guid="0x13" maxconn="131072" gdr="0"/>
          <net name="mlx5_9" speed="100000" port="1"/>
        </nic>
      </pci>
    </pci>
    <nic>
      <net name="eth0" dev="2" speed="10000" port="0" guid="0x0" gdr="0"/>
    </nic>
  </cpu>
  <cpu numaid="1" affinity="00000000,ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" host_hash="0x1">
    <pci busid="0000:22:00.0" class="0x030200" vendor="0x10de" link_speed="" link_width="0">
      <gpu dev="1" sm="90" rank="1" gdr="0">
        <nvlink target="0000:12:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

Machine read_xml(std::string text) {
  return read_nccl_xml({"topo.xml", std::move(text)}).machine;
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kFile);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const Finding* find(const Machine& machine, std::string_view code) {
  const auto found = std::ranges::find(machine.findings, code, &Finding::code);
  return found == machine.findings.end() ? nullptr : &*found;
}

TEST(NcclXml, IsRecognisedByItsContent) {
  EXPECT_TRUE(is_nccl_xml(kFile));
  EXPECT_TRUE(is_nccl_xml("<system version='2'><cpu/></system>"));
  EXPECT_FALSE(is_nccl_xml("<topology version=\"2.0\"><object type=\"Machine\"/></topology>"));
  EXPECT_FALSE(is_nccl_xml("<systematic/>"));
  EXPECT_FALSE(is_nccl_xml("the <system"));
  EXPECT_FALSE(is_nccl_xml(""));
}

TEST(NcclXml, ReadsDevicesAndWhatIsSaidOfThem) {
  const Machine machine = read_xml(std::string(kFile));
  for (const Finding& finding : machine.findings) ADD_FAILURE() << finding.message;
  EXPECT_EQ(machine.cpu.vendor, "GenuineIntel");
  EXPECT_EQ(machine.cpu.model_number, 143);
  ASSERT_EQ(machine.numa.size(), 2U);
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "16-31");
  EXPECT_EQ(machine.numa[1].mask_words, 2);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].sm, 90);
  EXPECT_EQ(machine.gpus[0].numa, 0);
  EXPECT_EQ(machine.gpus[1].numa, 1);
  EXPECT_EQ(machine.gpus[0].gpudirect, true);
  EXPECT_EQ(machine.gpus[1].gpudirect, false);
  EXPECT_EQ(machine.gpus[0].pci.address, parse_pci_address("0000:12:00.0"));
  EXPECT_EQ(machine.gpus[0].pci.subsystem_device, 0x16c1U);
  EXPECT_EQ(machine.gpus[0].pci.link.max_speed, 32);
  EXPECT_EQ(machine.gpus[1].pci.link.max_speed, std::nullopt);
  EXPECT_EQ(machine.gpus[1].pci.link.max_width, std::nullopt);
  ASSERT_EQ(machine.switches.size(), 1U);
  EXPECT_EQ(machine.switches[0].pci.subsystem_device, 0x72U);
}

TEST(NcclXml, EveryPortIsANicAndANetWithoutNumberIsNone) {
  const Machine machine = read_xml(std::string(kFile));
  ASSERT_EQ(machine.nics.size(), 3U);
  EXPECT_EQ(machine.nics[0].name, "mlx5_0");
  EXPECT_EQ(machine.nics[0].kind, NicKind::infiniband);
  EXPECT_EQ(machine.nics[0].state, NicState::active);
  EXPECT_EQ(machine.nics[0].rate_Gbps, 200);
  EXPECT_EQ(machine.nics[1].port, 2);
  EXPECT_EQ(machine.nics[1].gpudirect, false);
  EXPECT_EQ(machine.nics[1].pci.address, machine.nics[0].pci.address);
  EXPECT_EQ(machine.nics[2].name, "eth0");
  EXPECT_EQ(machine.nics[2].kind, NicKind::ethernet);
  EXPECT_EQ(machine.nics[2].port, std::nullopt);
  EXPECT_EQ(machine.nics[2].guid, "");
  EXPECT_EQ(machine.nics[2].pci.address, std::nullopt);
}

TEST(NcclXml, LinksAreStatedOnceAndHaveBothEnds) {
  const Machine machine = read_xml(std::string(kFile));
  const DeviceId gpu0{DeviceKind::gpu, 0}, gpu1{DeviceKind::gpu, 1};
  const auto has = [&machine](const Link& link) {
    return std::ranges::count(machine.links, link) == 1;
  };
  EXPECT_TRUE(has({gpu0, gpu1, LinkKind::nvlink, 4, std::nullopt}));
  ASSERT_EQ(machine.nvswitches.size(), 1U);
  EXPECT_EQ(machine.nvswitches[0].pci.address, std::nullopt);
  EXPECT_TRUE(has({gpu0, {DeviceKind::nvswitch, 0}, LinkKind::nvlink, 14, std::nullopt}));
  EXPECT_TRUE(has({gpu0, {DeviceKind::numa, 0}, LinkKind::c2c, 8, 200}));
  EXPECT_TRUE(has({gpu0, {DeviceKind::pcie_switch, 0}, LinkKind::pcie, 1, std::nullopt}));
  EXPECT_TRUE(has({gpu1, {DeviceKind::numa, 1}, LinkKind::pcie, 1, std::nullopt}));
  EXPECT_TRUE(has({{DeviceKind::nic, 2}, {DeviceKind::numa, 0}, LinkKind::pcie, 1, 5000}));
  EXPECT_TRUE(has({{DeviceKind::numa, 0}, {DeviceKind::numa, 1}, LinkKind::numa, 1, std::nullopt}));
}

TEST(NcclXml, APartialFileIsAMachineWithoutNamesAndLinks) {
  const Machine machine =
      read_xml(R"(<system version="1"><cpu numaid="0" affinity="ff" arch="arm64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0102:00:00.0" class="0x010802" link_speed="8 GT/s" link_width="4"/>
    </pci></cpu></system>)");
  EXPECT_TRUE(machine.findings.empty());
  ASSERT_EQ(machine.gpus.size(), 1U);
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].name, "");
  EXPECT_EQ(machine.nics[0].state, NicState::unknown);
  EXPECT_EQ(machine.gpus[0].sm, std::nullopt);
  const Path path = paths_of(machine).between({DeviceKind::gpu, 0}, {DeviceKind::nic, 0});
  EXPECT_EQ(path.kind, PathKind::PIX);
}

TEST(NcclXml, AmdGpusAreReadWithTheirArchitecture) {
  const Machine machine = read_xml(R"(<system version="2">
    <cpu numaid="0" affinity="f" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x120000" vendor="0x1002" link_speed="16 GT/s" link_width="16">
      <gpu dev="0" sm="304" gcn="gfx942:sramecc+" arch="38911" rank="0" gdr="1">
        <xgmi target="0000:02:00.0" count="2" tclass="0x120000"/></gpu></pci>
    <pci busid="0000:02:00.0" class="0x038000" link_speed="16 GT/s" link_width="16">
      <gpu dev="1" sm="104" gcn="910" rank="1" gdr="1">
        <xgmi target="0000:01:00.0" count="2" tclass="0x120000"/></gpu></pci>
    </cpu></system>)");
  EXPECT_TRUE(machine.findings.empty());
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "gfx942");
  EXPECT_EQ(machine.gpus[1].name, "gfx90a");
  EXPECT_EQ(machine.gpus[0].sm, std::nullopt) << "compute units are no capability";
  const Path path = paths_of(machine).between({DeviceKind::gpu, 0}, {DeviceKind::gpu, 1});
  EXPECT_EQ(path.kind, PathKind::NVL);
  EXPECT_EQ(path.GBps, 72);
}

TEST(NcclXml, MasksOfOtherWidthsAreReadAsWritten) {
  const Machine machine = read_xml(replaced("00000000,ffff0000", "ffff0000"));
  EXPECT_EQ(machine.numa[1].cpus.to_list(), "16-31");
  EXPECT_EQ(machine.numa[0].mask_words, 2);
  EXPECT_EQ(machine.numa[1].mask_words, 1);
}

TEST(NcclXml, ALinkToTheGpuItselfIsNotCounted) {
  const Machine machine = read_xml(replaced("target=\"0000:12:00.0\"", "target=\"0000:22:00.0\""));
  const Finding* finding = find(machine, "nvlink-to-itself");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where, "topo.xml:28");
  EXPECT_NE(find(machine, "link-sides-differ"), nullptr) << "GPU0 still states its own";
}

TEST(NcclXml, WhatIsWrongIsNamedWithItsLine) {
  const struct {
    std::string_view from, to, code, where;
  } kCases[] = {
      {"numaid=\"0\"", "numaid=\"x\"", "cpu-without-numaid", "topo.xml:4"},
      {"affinity=\"00000000,0000ffff\"", "affinity=\"zz\"", "cpu-mask-refused", "topo.xml:4"},
      {" arch=\"x86_64\"", "", "incomplete-processor", "NUMA0"},
      {" familyid=\"6\"", "", "incomplete-processor", "NUMA0"},
      {"link_speed=\"16 GT/s\"", "link_speed=\"16GT/s\"", "pcie-speed-unknown", "topo.xml:13"},
      {"count=\"14\"", "count=\"-14\"", "link-count-refused", "topo.xml:9"},
      {"count=\"14\"", "count=\"99999999999\"", "link-count-refused", "topo.xml:9"},
      {"target=\"0000:22:00.0\"", "target=\"0000:77:00.0\"", "link-target-missing", "topo.xml:8"},
      {"host_hash=\"0x1\"", "host_hash=\"0x2\"", "other-hosts", "topo.xml:25"},
      {"class=\"0x020700\"", "class=\"0x010802\"", "", ""},
  };
  for (const auto& each : kCases) {
    const Machine machine = read_xml(replaced(each.from, each.to));
    if (each.code.empty()) {
      EXPECT_EQ(machine.nics.size(), 3U) << "an adapter is one by what is in it";
      continue;
    }
    const Finding* finding = find(machine, each.code);
    ASSERT_NE(finding, nullptr) << each.code;
    EXPECT_EQ(finding->where, each.where) << each.code;
    EXPECT_FALSE(finding->remedy.empty()) << each.code;
  }
}

TEST(NcclXml, AFileThatBreaksOffIsReadAsFarAsItGoes) {
  std::string text(kFile);
  text.resize(text.find("<cpu numaid=\"1\"") + 20);
  const Machine machine = read_xml(text);
  EXPECT_EQ(machine.gpus.size(), 1U);
  const Finding* finding = find(machine, "damaged-recording");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where, "topo.xml:25");
}

TEST(NcclXml, AFileWithoutProcessorsIsRefusedWithItsLine) {
  try {
    (void)read_xml("<system version=\"1\">\n  <cpu numaid=");
    FAIL() << "read";
  } catch (const ReadError& error) {
    EXPECT_EQ(error.line(), 2) << error.what();
  }
  EXPECT_THROW((void)read_xml("<system version=\"1\"></system>"), ReadError);
  EXPECT_THROW((void)read_xml("<system"), ReadError);
}

// Every prefix, and every byte replaced by some that matter to XML: an answer or a ReadError.
TEST(NcclXml, DamageIsAFindingOrAnError) {
  const std::string whole(kFile);
  const auto try_read = [](std::string text) {
    try {
      const Machine machine = read_xml(std::move(text));
      (void)paths_of(machine);
      return true;
    } catch (const ReadError&) {
      return false;
    }
  };
  int refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += 7)
    refused += try_read(whole.substr(0, length)) ? 0 : 1;
  EXPECT_GT(refused, 0);
  for (std::size_t i = 0; i < whole.size(); i += 5) {
    for (const char byte : {'<', '"', '\0', '\xff', '9', '-'}) {
      std::string text = whole;
      text[i] = byte;
      (void)try_read(std::move(text));
    }
  }
}

TEST(NcclXml, DeepNestingEndsInAFinding) {
  std::string text = "<system><cpu numaid=\"0\" arch=\"arm64\">";
  for (int i = 0; i < 10000; ++i) text += "<pci class=\"0x060400\">";
  const Machine machine = read_xml(std::move(text));
  EXPECT_NE(find(machine, "nested-too-deep"), nullptr);
  EXPECT_LE(machine.switches.size(), 32U);
}

TEST(NcclXml, EntityBombsStayText) {
  const Machine machine = read_xml(
      "<!DOCTYPE system [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
      "<system><cpu numaid=\"0\" arch=\"arm64\" vendor=\"&b;\"></cpu></system>");
  EXPECT_EQ(machine.cpu.vendor, "&b;");
}

TEST(NcclXml, MoreThanAMachineHasIsRefusedOrLeftOut) {
  std::string many = "<system><cpu numaid=\"0\" arch=\"arm64\">";
  for (int i = 0; i < 20000; ++i) many += "<pci class=\"0x030200\" link_width=\"99\"/>";
  Machine machine = read_xml(many + "</cpu></system>");
  EXPECT_EQ(machine.gpus.size(), 256U);
  EXPECT_NE(find(machine, "too-many-devices"), nullptr);
  EXPECT_LE(machine.findings.size(), 65U);
  for (int i = 0; i < 60000; ++i) many += "<a/>";
  EXPECT_THROW((void)read_xml(many), ReadError);
}

}  // namespace
}  // namespace lockstep::topology
