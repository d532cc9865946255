// Real topology files: what the notes beside them say, and the paths of all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "tests/topology/nccl_rules.h"
#include "topology/bandwidth.h"
#include "topology/nccl_xml_writer.h"
#include "topology/paths.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

class NcclXmlCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(test::corpus_folder()))
      GTEST_SKIP() << "SKIPPED: no recordings at " << test::corpus_folder();
  }

  static std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(test::corpus_folder() / "nccl-xml")) {
      if (entry.path().extension() == ".xml")
        names.push_back("nccl-xml/" + entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  static Recording load(const std::string& name) {
    auto recording = test::corpus(name);
    if (!recording) throw std::runtime_error("no recording " + name);
    return *std::move(recording);
  }

  static Machine read(const std::string& name) { return read_recording(load(name)).machine; }
};

using Acceptance = NcclXmlCorpus;

std::vector<std::string> codes_of(const Machine& machine) {
  std::vector<std::string> codes;
  for (const Finding& finding : machine.findings) codes.push_back(finding.code);
  return codes;
}

auto count_of(const Machine& machine, std::string_view code) {
  return std::ranges::count(codes_of(machine), code);
}

// GPU links as the files count them: from both ends where both are GPUs.
int gpu_links(const Machine& machine) {
  int count = 0;
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) continue;
    count += link.to.kind == DeviceKind::gpu ? 2 * link.count : link.count;
  }
  return count;
}

void expect_rules(const std::string& name, const Machine& machine, const std::string& xml) {
  const test::RuleTable rules = test::rule_table(xml);
  const PathTable paths = paths_of(machine);
  EXPECT_EQ(paths.all().size(), rules.size()) << name;
  for (const auto& [ends, rule] : rules) {
    const Path path = paths.between(*parse_device_id(ends.first), *parse_device_id(ends.second));
    EXPECT_EQ(to_string(path.kind), rule.kind) << name << ": " << ends.first << " " << ends.second;
    ASSERT_EQ(path.GBps.has_value(), rule.known)
        << name << ": " << ends.first << " " << ends.second;
    if (!rule.known) continue;
    EXPECT_NEAR(*path.GBps, rule.GBps, 1e-6)
        << name << ": " << ends.first << " " << ends.second << " " << rule.kind;
  }
}

struct Counts {
  std::size_t gpus, nics, numa;
  int gpu_links;
};

// From the notes beside the files. Of the two files without classes only the notes know which of
// the devices are GPUs; the machine says how many there are.
const std::map<std::string, Counts> kCounts{
    {"WRONG-aws-p5.48xlarge-no-arch-2023.xml", {0, 0, 2, 0}},
    {"WRONG-azure-ndv4-numa-swapped-2023.xml", {8, 8, 4, 0}},
    {"aws-g5.48xlarge-topo.xml", {0, 0, 2, 0}},
    {"aws-p4d.24xlarge-topo.xml", {8, 4, 2, 0}},
    {"azure-ncv4-topo.xml", {4, 1, 4, 0}},
    {"azure-ndv2-topo.xml", {8, 1, 2, 0}},
    {"azure-ndv5-topo.xml", {8, 8, 2, 0}},
    {"oci-bm.gpu.h100.8-k8s-topo.xml", {8, 16, 2, 144}},
    {"oci-bm.gpu.h100.8-topo.xml", {8, 16, 2, 144}},
    {"oci-bm.gpu4.8-topo-flattened.xml", {8, 8, 4, 0}},
    {"rccl-topo_16p1h.xml", {16, 8, 4, 112}},
    {"rccl-topo_16p1h_vm.xml", {16, 8, 4, 112}},
    {"rccl-topo_3p_pcie.xml", {3, 1, 2, 0}},
    {"rccl-topo_4p1h.xml", {4, 1, 1, 8}},
    {"rccl-topo_8p6l_6nic.xml", {8, 6, 2, 48}},
    {"rccl-topo_8p_940vm.xml", {8, 8, 2, 56}},
    {"rccl-topo_8p_rome.xml", {8, 1, 2, 16}},
    {"rccl-topo_8p_rome_vm1.xml", {8, 1, 4, 24}},
};

TEST_F(NcclXmlCorpus, HasTheDevicesThatTheNotesSay) {
  std::size_t known = 0;
  for (const std::string& name : files()) {
    const Machine machine = read(name);
    EXPECT_EQ(machine.sources, std::vector<std::string>{"nccl-xml"}) << name;
    const auto counts = kCounts.find(std::filesystem::path(name).filename().string());
    if (counts == kCounts.end()) continue;
    ++known;
    EXPECT_EQ(machine.gpus.size(), counts->second.gpus) << name;
    EXPECT_EQ(machine.nics.size(), counts->second.nics) << name;
    EXPECT_EQ(machine.numa.size(), counts->second.numa) << name;
    EXPECT_EQ(gpu_links(machine), counts->second.gpu_links) << name;
  }
  EXPECT_EQ(known, kCounts.size());
}

TEST_F(NcclXmlCorpus, EveryPathTableIsThatOfNcclsRules) {
  for (const std::string& name : files()) expect_rules(name, read(name), load(name).text);
}

TEST_F(NcclXmlCorpus, WhatIsWrittenReadsBackWithTheSamePaths) {
  for (const std::string& name : files()) {
    const Machine machine = read(name);
    const std::string written = write_nccl_xml(machine, NcclXmlForm::full);
    const Machine again = read_recording({name, written}).machine;
    EXPECT_EQ(again.gpus.size(), machine.gpus.size()) << name;
    EXPECT_EQ(again.nics.size(), machine.nics.size()) << name;
    EXPECT_EQ(again.switches.size(), machine.switches.size()) << name;
    EXPECT_EQ(gpu_links(again), gpu_links(machine)) << name;
    EXPECT_EQ(paths_of(again).all(), paths_of(machine).all()) << name;
    for (std::size_t i = 0; i < machine.numa.size() && i < again.numa.size(); ++i)
      EXPECT_EQ(again.numa[i].cpus, machine.numa[i].cpus) << name;
    EXPECT_EQ(write_nccl_xml(again, NcclXmlForm::full), written) << name;
  }
}

TEST_F(NcclXmlCorpus, HealthyFilesHaveNoFindings) {
  for (const char* name :
       {"aws-p4d.24xlarge-topo.xml", "azure-ndv2-topo.xml", "azure-ndv5-topo.xml",
        "oci-bm.gpu.h100.8-k8s-topo.xml", "oci-bm.gpu.h100.8-topo.xml",
        "oci-bm.gpu4.8-topo-flattened.xml", "rccl-topo_16p1h.xml", "rccl-topo_16p1h_vm.xml",
        "rccl-topo_3p_pcie.xml", "rccl-topo_4p1h.xml", "rccl-topo_8p6l_6nic.xml",
        "rccl-topo_8p_940vm.xml", "rccl-topo_8p_rome.xml", "rccl-topo_8p_rome_vm1.xml"}) {
    const Machine machine = read(std::string("nccl-xml/") + name);
    for (const Finding& finding : machine.findings)
      ADD_FAILURE() << name << ": " << finding.code << ": " << finding.message;
  }
}

TEST_F(NcclXmlCorpus, AFileWithoutClassesSaysWhichDevicesItCannotTell) {
  const Machine machine = read("nccl-xml/aws-g5.48xlarge-topo.xml");
  ASSERT_EQ(count_of(machine, "devices-without-class"), 1);
  const auto finding = std::ranges::find(machine.findings, "devices-without-class", &Finding::code);
  EXPECT_NE(finding->message.find("9 devices"), std::string::npos) << finding->message;
  EXPECT_NE(finding->message.find("0000:00:15.0"), std::string::npos) << finding->message;
}

TEST_F(Acceptance, T05_OciH100HasItsAdaptersAtPixOnceTheSwitchesAreFlattened) {
  const Recording recording = load("nccl-xml/oci-bm.gpu.h100.8-topo.xml");
  const Machine machine = read_recording(recording).machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  ASSERT_EQ(machine.nics.size(), 16U);
  const PathTable paths = paths_of(machine);
  // The same file whose switches nobody knows to be Broadcom's.
  Machine plain = machine;
  for (Switch& each : plain.switches) each.pci.vendor = 0x10b5;
  const PathTable before = paths_of(plain);
  for (int i = 0; i < 8; ++i) {
    const DeviceId gpu{DeviceKind::gpu, i};
    for (const DeviceId own : {DeviceId{DeviceKind::nic, 2 * i}, {DeviceKind::nic, 2 * i + 1}}) {
      EXPECT_EQ(paths.between(gpu, own).kind, PathKind::PIX);
      EXPECT_EQ(before.between(gpu, own).kind, PathKind::PXB);
    }
    if (i == 0) continue;
    const Path peer = paths.between({DeviceKind::gpu, 0}, gpu);
    EXPECT_EQ(peer.kind, PathKind::NVL);
    EXPECT_EQ(peer.label, "NV18");
    EXPECT_NEAR(peer.GBps.value_or(0), 370.8, 1e-9);
  }
  // What findings/switch_uplinks judges: outer switches whose uplink is slower than all below.
  const auto slow = std::ranges::count_if(machine.switches, [](const Switch& each) {
    return each.pci.link.as_written == "5.0 GT/s PCIe" && pcie_GBps(each.pci.link) == 6.0;
  });
  EXPECT_EQ(slow, 8);
  expect_rules(recording.name, machine, recording.text);
}

TEST_F(Acceptance, T10_WrongVendorFilesAreReadAndSayWhatIsWrong) {
  // Identical masks: what findings/cpu_masks judges.
  const Machine swapped = read("nccl-xml/WRONG-azure-ndv4-numa-swapped-2023.xml");
  ASSERT_EQ(swapped.numa.size(), 4U);
  for (const NumaNode& node : swapped.numa) {
    EXPECT_EQ(node.cpus, swapped.numa.front().cpus);
    EXPECT_EQ(node.cpus.count(), 32);
    EXPECT_EQ(node.mask_words, 2);
  }
  const Machine incomplete = read("nccl-xml/WRONG-aws-p5.48xlarge-no-arch-2023.xml");
  ASSERT_EQ(count_of(incomplete, "incomplete-processor"), 2);
  EXPECT_NE(incomplete.findings.front().message.find("cpu numaid 0 lacks arch, vendor"),
            std::string::npos)
      << incomplete.findings.front().message;
  EXPECT_EQ(incomplete.findings.front().where, "NUMA0");
  EXPECT_EQ(count_of(incomplete, "pcie-speed-unknown"), 1) << "\"32 GT/s PCIe/s\"";

  const Machine selfish = read("nccl-xml/azure-ncv4-topo.xml");
  EXPECT_EQ(count_of(selfish, "nvlink-to-itself"), 4);
  EXPECT_EQ(gpu_links(selfish), 0);
  const Path path = paths_of(selfish).between({DeviceKind::gpu, 0}, {DeviceKind::gpu, 1});
  EXPECT_EQ(path.kind, PathKind::SYS);
  EXPECT_EQ(path.GBps, 12) << "an empty speed is generation 3";
}

}  // namespace
}  // namespace lockstep::topology
