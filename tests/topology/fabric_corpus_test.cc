// Recordings of real fabrics, and the models that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/json.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

#define CORPUS_OR_SKIP(recording, name)      \
  const auto recording = test::corpus(name); \
  if (!recording) GTEST_SKIP() << "SKIPPED: no " << name

std::string refusal(const Recording& recording) {
  try {
    (void)read_recording(recording);
  } catch (const ReadError& error) {
    return error.what();
  }
  return "it was read";
}

struct Expected {
  const char* file;
  std::size_t switches, adapters, ports;
};

TEST(FabricCorpus, IbsimsNetsHaveTheNodesAndPortsOfTheirDescriptions) {
  for (const auto& [file, switches, adapters, ports] :
       {Expected{"fabric/ibsim-net.1.txt", 1, 2, 4},
        Expected{"fabric/ibsim-net.2sw2path.txt", 2, 2, 8},
        Expected{"fabric/ibsim-net.2sw2path4hca.txt", 2, 4, 12},
        Expected{"fabric/ibsim-net.2sw2path4hca2port.txt", 2, 2, 12}}) {
    CORPUS_OR_SKIP(recording, file);
    const Reading reading = read_recording(*recording);
    EXPECT_THAT(reading.machine.findings, IsEmpty()) << file;
    const Fabric& fabric = *reading.fabric;
    EXPECT_THAT(fabric.switches, SizeIs(switches)) << file;
    EXPECT_THAT(fabric.adapters, SizeIs(adapters)) << file;
    std::size_t found = 0;
    for (const FabricSwitch& node : fabric.switches) found += node.ports.size();
    for (const FabricAdapter& node : fabric.adapters) found += node.ports.size();
    EXPECT_EQ(found, ports) << file;
    EXPECT_EQ(fabric.tiers, 1) << file;
    EXPECT_THAT(fabric.rails, IsEmpty()) << file;
  }
}

TEST(Acceptance, T14_AnNdrClusterHasTwoTiersAndFourRails) {
  CORPUS_OR_SKIP(recording, "fabric/ndr-cluster.ibnetdiscover.txt");
  const Reading reading = read_recording(*recording);
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  const Fabric& fabric = *reading.fabric;
  EXPECT_THAT(fabric.switches, SizeIs(40));
  EXPECT_THAT(fabric.adapters, SizeIs(582));
  EXPECT_EQ(std::ranges::count(fabric.adapters, AdapterKind::aggregation, &FabricAdapter::kind),
            40);
  std::set<std::string> hosts;
  for (const FabricAdapter& adapter : fabric.adapters)
    if (adapter.host.starts_with("dgx")) hosts.insert(adapter.host);
  EXPECT_THAT(hosts, SizeIs(119));
  EXPECT_EQ(fabric.tiers, 2);
  for (const FabricSwitch& node : fabric.switches) {
    EXPECT_EQ(node.tier, node.name.find("SPINE") == std::string::npos ? 0 : 1) << node.name;
    for (const FabricPort& port : node.ports) EXPECT_EQ(port.rate_Gbps, 400) << node.name;
  }
  ASSERT_THAT(fabric.rails, SizeIs(4));
  std::vector<std::string> devices;
  std::size_t leaves = 0;
  for (const Rail& rail : fabric.rails) {
    devices.push_back(rail.device);
    leaves += rail.switches.size();
  }
  EXPECT_THAT(devices, testing::ElementsAre("HCA-1", "HCA-2", "HCA-5", "HCA-6"));
  EXPECT_EQ(leaves, 31U);
}

TEST(Acceptance, T14_AMalformedFabricIsAnErrorWithItsLine) {
  CORPUS_OR_SKIP(recording, "fabric/bad.ibnetdiscover.txt");
  EXPECT_THAT(refusal(*recording), HasSubstr("bad.ibnetdiscover.txt:10: expected the lines of"));
}

TEST(Acceptance, T14_SlurmsTreesAndForestsAreRead) {
  struct Tree {
    const char* file;
    std::size_t switches, leaves, hosts;
    int tiers;
  };
  for (const auto& [file, switches, leaves, hosts, tiers] :
       {Tree{"slurm/slurm-test133-case1.topology.conf", 529, 500, 10000, 4},
        Tree{"slurm/slurm-test133-case2.topology.conf", 528, 500, 10000, 4},
        Tree{"slurm/slurm-test133-case3.topology.conf", 23, 20, 400, 3},
        Tree{"slurm/slurm-test133-case4.topology.conf", 22, 20, 400, 2},
        Tree{"slurm/slurm-test133-case5.topology.conf", 22, 20, 400, 2},
        Tree{"slurm/slurm-test133-case6.topology.conf", 7, 5, 40, 2},
        Tree{"slurm/topograph-expected-oci-tree.topology.conf", 19, 12, 96, 3}}) {
    CORPUS_OR_SKIP(recording, file);
    const Reading reading = read_recording(*recording);
    EXPECT_THAT(reading.machine.findings, IsEmpty()) << file;
    const Fabric& fabric = *reading.fabric;
    EXPECT_THAT(fabric.switches, SizeIs(switches)) << file;
    EXPECT_EQ(std::ranges::count(fabric.switches, 0, &FabricSwitch::tier), leaves) << file;
    EXPECT_THAT(fabric.adapters, SizeIs(hosts)) << file;
    EXPECT_EQ(fabric.tiers, tiers) << file;
    EXPECT_THAT(fabric.blocks, IsEmpty()) << file;
  }
}

TEST(Acceptance, T14_SlurmsBlocksAndTheirSizesAreChecked) {
  CORPUS_OR_SKIP(recording, "slurm/slurm-unit-backfill-block.topology.conf");
  const Reading reading = read_recording(*recording);
  EXPECT_THAT(reading.machine.findings, IsEmpty());
  EXPECT_THAT(reading.fabric->blocks, AllOf(SizeIs(8), Each(SizeIs(4))));
  EXPECT_THAT(reading.fabric->block_sizes, testing::ElementsAre(4, 8, 16, 32, 64));
  Recording damaged = *recording;
  damaged.text.replace(damaged.text.find("4,8,16"), 6, "4,9,16");
  const auto findings = read_recording(damaged).machine.findings;
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].code, "bad-block-size");
  EXPECT_THAT(findings[0].where, HasSubstr(".topology.conf:9"));
}

TEST(Acceptance, T14_ModelsOfOtherToolsAreRefusedByName) {
  for (const auto& [file, name] : std::vector<std::pair<const char*, const char*>>{
           {"fabric/topograph-model-small-tree.yaml", "a topograph model"},
           {"fabric/topograph-model-nvl72.yaml", "a topograph model"},
           {"fabric/topograph-model-dual-xclr-irregular.yaml", "a topograph model"},
           {"fabric/netq-computeNodes.json", "a NetQ list of compute nodes"},
           {"fabric/netq-topologyGraph.json", "a NetQ topology graph"}}) {
    CORPUS_OR_SKIP(recording, file);
    EXPECT_THAT(refusal(*recording), AllOf(HasSubstr(name), HasSubstr("; give "))) << file;
  }
}

TEST(FabricCorpus, EveryFabricComesBackFromJson) {
  for (const char* file :
       {"fabric/ndr-cluster.ibnetdiscover.txt", "fabric/ibsim-net.2sw2path4hca.txt",
        "slurm/slurm-test133-case2.topology.conf",
        "slurm/slurm-unit-backfill-block.topology.conf"}) {
    CORPUS_OR_SKIP(recording, file);
    Cluster cluster;
    cluster.fabric = read_recording(*recording).fabric;
    EXPECT_TRUE(cluster_from_json({"fabric.json", to_json(cluster)}) == cluster) << file;
  }
}

TEST(Refused, OtherToolsAreToldApartByWhatTheyWrite) {
  for (const auto& [text, name] : std::vector<std::pair<const char*, const char*>>{
           {"# model\nswitches:\n  core:\n    switches: [a]\nnodes:\n- n1\n", "a topograph model"},
           {"---\n- topology: default\n  cluster_default: true\n  tree:\n    switches:\n",
            "Slurm's topology.yaml"},
           {"[{\"DomainUUID\": \"1\", \"GpuIDList\": [], \"Name\": \"n\"}]", "a NetQ list"},
           {"[{\"links\": [{\"compounded_links\": [], \"interfaces\": []}]}]", "a NetQ topology"},
           {"START_NODES\nNodeDesc,NumPorts\n", "ibdiagnet"},
           {"{ CA Ports:01 SystemGUID:1 } { SW Ports:41 }\n", "OpenSM"},
           {"CA: node07 mlx5_0:\n      0x1 4 1[  ] ==( 4X )==>\n", "iblinkinfo"}}) {
    EXPECT_THAT(refusal({"model", text}), AllOf(StartsWith("model: "), HasSubstr(name)));
  }
  EXPECT_THAT(refusal({"notes.yaml", "switches:\n- light\n- dark\n"}),
              HasSubstr("not a recording that can be read"));
}

}  // namespace
}  // namespace lockstep::topology
