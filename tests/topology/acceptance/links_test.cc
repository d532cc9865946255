// Acceptance tests 5, 8 and 11: NVLink, PCIe switches and access control, judged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/topology/acceptance/recorded_host.h"
#include "tests/topology/corpus.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::findings_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(Acceptance, T05_TheUplinksOfOciH100AreSuspiciousAndItsRailsNear) {
  RECORDED_OR_SKIP(host, {"nccl-xml/oci-bm.gpu.h100.8-topo.xml"});
  EXPECT_THAT(findings_of(host->machine, "suspicious-switch-uplink"),
              ElementsAre(AllOf(StartsWith("warning"), HasSubstr("6.0 GB/s"),
                                HasSubstr("\"5.0 GT/s PCIe\""), HasSubstr("0000:08:00.0"))));
  ASSERT_THAT(host->advice.rails, SizeIs(16));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(host->advice.rails[i].gpu, static_cast<int>(i / 2));
    EXPECT_EQ(host->advice.rails[i].nic, static_cast<int>(i));
    EXPECT_EQ(host->advice.rails[i].kind, PathKind::PIX);
  }
  const Path peer = host->paths.between({DeviceKind::gpu, 0}, {DeviceKind::gpu, 7});
  EXPECT_EQ(peer.kind, PathKind::NVL);
  EXPECT_DOUBLE_EQ(peer.GBps.value_or(0), 370.8);
  EXPECT_THAT(host->advice.settings, IsEmpty());
}

TEST(Acceptance, T08_ALooseBridgeIsNamed) {
  RECORDED_OR_SKIP(host, {"smi-topo/2gpu-nv3-loose-bridge.txt"});
  EXPECT_THAT(findings_of(host->machine, "lost-nvlink"),
              ElementsAre(AllOf(HasSubstr("GPU0 and GPU1"), HasSubstr("3 of 4 NVLinks"))));
}

TEST(Acceptance, T08_ADeadBridgeIsNamedByItsPair) {
  RECORDED_OR_SKIP(host, {"smi-topo/a100-pcie-4gpu-one-bridge-dead-oldfmt.txt"});
  EXPECT_THAT(
      findings_of(host->machine, "dead-nvlink-bridge"),
      ElementsAre(HasSubstr("GPU0 and GPU1 has 12 NVLinks, the pair GPU2 and GPU3 has none")));
}

TEST(Acceptance, T08_InactiveLinksAreNamedByTheirNumbers) {
  RECORDED_OR_SKIP(host, {"nvlink/v100-inactive-links.txt"});
  EXPECT_THAT(findings_of(host->machine, "inactive-nvlink"),
              ElementsAre(AllOf(StartsWith("error"), HasSubstr("GPU3 has 4 of 6"),
                                HasSubstr("links 3 and 5"))));
}

TEST(Acceptance, T08_NoNvlinkAtAllIsNoFault) {
  for (const char* name : {"smi-topo/rtx3090-4gpu-phb-sys.txt", "smi-topo/vm-4gpu-phb-nonic.txt",
                           "smi-topo/pcie-8gpu-6plus2-node-phb.txt"}) {
    RECORDED_OR_SKIP(host, {name});
    EXPECT_THAT(host->machine.findings, IsEmpty()) << name;
    EXPECT_THAT(host->advice.settings, IsEmpty()) << name;
  }
}

TEST(Acceptance, T11_FourBridgesAreWarnedOfAndTwoAreAHint) {
  RECORDED_OR_SKIP(host, {"lspci/h100-host.lspci-vvv.txt"});
  const auto warned = findings_of(host->machine, "acs-redirect");
  ASSERT_THAT(warned, SizeIs(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(warned[static_cast<std::size_t>(i)],
                AllOf(StartsWith("warning"), HasSubstr(fmt::format("0000:82:0{}.0", i)),
                      HasSubstr("ReqRedir+ CmpltRedir+")));
  }
  EXPECT_THAT(findings_of(host->machine, "acs-source-validation"),
              ElementsAre(AllOf(StartsWith("info"), HasSubstr("0000:00:0c.0")),
                          AllOf(StartsWith("info"), HasSubstr("0000:00:0e.0"))));
}

TEST(Acceptance, T11_WithoutRootItCannotBeTold) {
  auto recording = test::corpus("lspci/h100-host.lspci-vvv.txt");
  if (!recording) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  std::string plain;
  std::istringstream lines(recording->text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\t\t")) continue;
    plain += line.starts_with("\tCapabilities") ? "\tCapabilities: <access denied>\n" : line + "\n";
  }
  recording->text = plain;
  const auto host = test::host_of(read_recording(*recording).machine);
  EXPECT_THAT(findings_of(host.machine, "acs-redirect"), IsEmpty());
  EXPECT_THAT(findings_of(host.machine, "access-control-unknown"),
              ElementsAre(HasSubstr("cannot be told")));
}

}  // namespace
}  // namespace lockstep::topology
