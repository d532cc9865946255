// Acceptance tests 6, 7, 10 and 12: what hypervisors hide and vendors wrote wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/topology/acceptance/recorded_host.h"
#include "topology/nccl_xml_writer.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using test::alarms_of;
using test::findings_of;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Acceptance, T06_AVirtualSwitchThatNcclBelievesIsAnErrorWithItsCure) {
  RECORDED_OR_SKIP(host, {"logs/vm-h200-pci-0.2.nccl-graph.txt"});
  EXPECT_THAT(findings_of(host->machine, "slow-virtual-switch"),
              AllOf(SizeIs(2),
                    Each(HasSubstr("error: virtual switch 104c:8232 at 2.5 GT/s x1 = 0.2 GB/s"))));
  EXPECT_EQ(test::value_of(host->advice, "NCCL_TOPO_FILE"), "nccl-topology.xml");

  const std::string xml = write_nccl_xml(host->machine, NcclXmlForm::virtual_machine);
  EXPECT_THAT(xml, AllOf(HasSubstr("busid=\"ffff:ff:01.0\""), HasSubstr("busid=\"ffff:ff:02.0\"")));
  for (const char* element : {"<gpu", "<nic", "<net", "<nvlink"})
    EXPECT_THAT(xml, Not(HasSubstr(element)));
  // With the file NCCL sees no slow link any more.
  const auto cured = test::host_of(read_recording({"nccl-topology.xml", xml}).machine);
  EXPECT_THAT(cured.machine.switches, SizeIs(2));
  for (const Switch& bridge : cured.machine.switches) {
    EXPECT_EQ(bridge.pci.link.max_speed, 32);
    EXPECT_EQ(bridge.pci.link.max_width, 16);
  }
  EXPECT_THAT(alarms_of(cured.machine), IsEmpty());
  EXPECT_THAT(cured.advice.settings, IsEmpty());
}

TEST(Acceptance, T07_AHiddenPciTreeHasNoNearestAdapter) {
  RECORDED_OR_SKIP(host, {"smi-topo/vm-h100-4gpu-8nic-all-phb.txt"});
  EXPECT_THAT(host->advice.rails, IsEmpty());
  EXPECT_THAT(host->advice.settings, IsEmpty());
  EXPECT_THAT(findings_of(host->machine, "hidden-pci-topology"),
              ElementsAre(AllOf(HasSubstr("unknown"), HasSubstr("default level (PXB)"),
                                HasSubstr("does not use GPUDirect"))));
  EXPECT_THAT(test::unset_reason(host->advice, "NCCL_NET_GDR_LEVEL"),
              HasSubstr("only after a bandwidth test"));
}

TEST(Acceptance, T07_GraceIsSysEverywhereAndNotFlagged) {
  RECORDED_OR_SKIP(host, {"smi-topo/gb200-4gpu-8nic-all-sys.txt"});
  EXPECT_THAT(alarms_of(host->machine), IsEmpty());
  EXPECT_THAT(host->advice.settings, IsEmpty());
  std::vector<int> nodes;
  for (const NumaNode& node : host->machine.numa) nodes.push_back(node.id);
  EXPECT_THAT(nodes, ElementsAre(0, 1));
  for (const Gpu& gpu : host->machine.gpus) {
    ASSERT_TRUE(gpu.numa);
    EXPECT_LE(*gpu.numa, 1) << "a node of GPU memory is nowhere to run";
  }
  for (const Finding& finding : host->advice.findings)
    EXPECT_EQ(finding.severity, Severity::info) << finding.message;
}

TEST(Acceptance, T10_NodesWithIdenticalMasksAreNamed) {
  RECORDED_OR_SKIP(host, {"nccl-xml/WRONG-azure-ndv4-numa-swapped-2023.xml"});
  EXPECT_THAT(findings_of(host->machine, "identical-cpu-masks"),
              ElementsAre(HasSubstr("NUMA nodes 0, 1, 2 and 3")));
  EXPECT_EQ(test::value_of(host->advice, "NCCL_IGNORE_CPU_AFFINITY"), "1");
}

TEST(Acceptance, T10_WhatACpuElementLacksIsNamed) {
  RECORDED_OR_SKIP(host, {"nccl-xml/WRONG-aws-p5.48xlarge-no-arch-2023.xml"});
  EXPECT_THAT(findings_of(host->machine, "incomplete-processor"),
              ElementsAre(HasSubstr("cpu numaid 0 lacks arch, vendor"),
                          HasSubstr("cpu numaid 1 lacks arch, vendor")));
}

TEST(Acceptance, T10_AnNvlinkToItsOwnGpuIsNoLinkAndNoAlarm) {
  RECORDED_OR_SKIP(host, {"nccl-xml/azure-ncv4-topo.xml"});
  for (const Link& link : host->machine.links) EXPECT_NE(link.kind, LinkKind::nvlink);
  EXPECT_THAT(findings_of(host->machine, "nvlink-to-itself"), SizeIs(4));
  EXPECT_THAT(alarms_of(host->machine), IsEmpty()) << "Azure wrote them on purpose";
}

TEST(Acceptance, T10_AMaskOfAnotherWidthThanItsSiblingsIsNamed) {
  const auto host = test::host_of(read_recording({"topo.xml",
                                                  R"(<system version="1">
  <cpu numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:41:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
  </cpu>
</system>
)"})
                                      .machine);
  EXPECT_THAT(findings_of(host.machine, "cpu-mask-width"), SizeIs(1));
}

TEST(Acceptance, T12_HostsWithoutGpusHaveNoAlarms) {
  for (const char* name :
       {"sysfs/2pa-pcidomain32bits.sysfs.txt", "hwloc/16intel64-manyVFs.xml",
        "sysfs/40intel64-4n10c+pci-conflicts.sysfs.txt", "hwloc/nvidia-dgx-gb10.xml"}) {
    RECORDED_OR_SKIP(host, {name});
    EXPECT_THAT(alarms_of(host->machine), IsEmpty()) << name;
    EXPECT_THAT(host->advice.settings, IsEmpty()) << name;
  }
  RECORDED_OR_SKIP(bond, {"sysfs/h100-9hca.sys-class-infiniband.txt"});
  EXPECT_EQ(test::value_of(bond->advice, "NCCL_IB_HCA"),
            "=mlx5_0,mlx5_1,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9");
  ASSERT_THAT(bond->advice.left_out, SizeIs(1));
  EXPECT_EQ(bond->advice.left_out[0].nic_device, "mlx5_bond_0");
}

}  // namespace
}  // namespace lockstep::topology
