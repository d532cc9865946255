// Recordings of clusters with any byte changed: refused or read in part, never worse.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/topology/fabric_text.h"
#include "topology/json.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

// How many damaged copies were refused; any exception but a ReadError fails the test.
int refused_of_damaged(const std::string& good) {
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'\0', '\n', '"', '[', ']', '{', '9', '-', ',', '=', '\xff'}) {
      std::string text = good;
      text[at] = c;
      try {
        (void)read_recording({"damaged", text});
      } catch (const ReadError&) {
        ++refused;
      }
    }
  }
  return refused;
}

TEST(ClusterDamage, OfIbnetdiscoverIsRefusedOrReadInPart) {
  EXPECT_GT(refused_of_damaged(test::two_rails(2).text()), 0);
}

TEST(ClusterDamage, OfSlurmsTopologyIsRefusedOrReadInPart) {
  EXPECT_GT(refused_of_damaged("SwitchName=root Switches=leaf[1-2]\n"
                               "SwitchName=leaf1 Nodes=node[01-04],x\n"
                               "SwitchName=leaf2 \\\n  Nodes=\"node[05-08]\" # and more\n"
                               "BlockName=b1 Nodes=node[01-04]\nBlockSizes=2,4\n"),
            0);
}

TEST(ClusterDamage, OfJsonIsRefusedOrReadInPart) {
  Cluster cluster;
  cluster.hosts.resize(1);
  cluster.hosts[0].gpus.resize(1);
  cluster.hosts[0].gpus[0].pci.vendor = 0x10de;
  cluster.hosts[0].stated = {
      {.from = {DeviceKind::gpu, 0}, .to = {DeviceKind::gpu, 0}, .label = "X"}};
  EXPECT_GT(refused_of_damaged(to_json(cluster)), 0);
}

TEST(ClusterDamage, NoiseIsRefusedOrLeavesFewFindings) {
  std::string noise;
  unsigned state = 7;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525U + 1013904223U;
    noise += static_cast<char>(state >> 24);
  }
  for (const char* const head :
       {"", "# Topology file: generated on\n", "SwitchName=a Nodes=b\n",
        "{\"version\":1,\"hosts\":[", "Switch 65 \"S-1\"\n[1] \"H-1\"[1]\n", "switches:\n"}) {
    try {
      const Reading reading = read_recording({"noise", head + noise});
      EXPECT_LE(reading.machine.findings.size(), 65U) << head;
      EXPECT_TRUE(reading.fabric) << head;
    } catch (const ReadError& error) {
      EXPECT_LT(std::string(error.what()).size(), 1000U) << head;
    }
  }
}

}  // namespace
}  // namespace lockstep::topology
