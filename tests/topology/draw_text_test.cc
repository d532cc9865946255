#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/topology/drawn_machines.h"
#include "tests/topology/machines.h"
#include "topology/draw/dot.h"
#include "topology/draw/fabric_text.h"
#include "topology/draw/labels.h"
#include "topology/draw/matrix.h"
#include "topology/draw/text.h"
#include "topology/draw/tree.h"
#include "topology/paths.h"

namespace lockstep::topology {
namespace {

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++found;
  return found;
}

TEST(DrawTree, OfTwoGpusWithABridge) {
  EXPECT_EQ(draw_tree(test::pair()),
            "NUMA0 CPUs 0-31\n"
            "|-- GPU0 NVIDIA RTX A6000 0000:01:00.0 Gen4 x16\n"
            "`-- GPU1 NVIDIA RTX A6000 0000:02:00.0 Gen4 x16\n"
            "GPU0: 4 x NVLink to GPU1\n"
            "GPU1: 4 x NVLink to GPU0\n");
}

TEST(DrawTree, SwitchesStandAboveWhatHangsOffThem) {
  const std::string tree = draw_tree(test::hgx_h100());
  EXPECT_NE(tree.find("NUMA0 CPUs 0-55,112-167, 1024 GiB\n"
                      "|-- SW0 PCIe switch 0000:10:00.0 Gen5 x16\n"
                      "|   |-- GPU0 NVIDIA H100 80GB HBM3 0000:12:00.0 Gen5 x16\n"
                      "|   `-- NIC0 mlx5_0 infiniband 400 Gb/s active (ib0) 0000:13:00.0 "
                      "Gen5 x16\n"),
            std::string::npos)
      << tree;
  EXPECT_NE(tree.find("GPU0 to GPU7 (8) each: 18 x NVLink to NVSwitches\n"), std::string::npos)
      << tree;
}

TEST(DrawTree, ASwitchThatHangsOffNothingIsAboveItsOwn) {
  Machine machine;
  machine.switches.resize(2);
  machine.links.push_back({.from = {DeviceKind::pcie_switch, 0},
                           .to = {DeviceKind::pcie_switch, 1},
                           .kind = LinkKind::pcie,
                           .count = 1,
                           .GBps = std::nullopt});
  EXPECT_EQ(draw_tree(machine),
            "SW1 PCIe switch\n"
            "`-- SW0 PCIe switch\n");
}

TEST(DrawTree, LinksInARingAreDrawnOnce) {
  Machine machine;
  machine.switches.resize(3);
  for (int i = 0; i < 3; ++i)
    machine.links.push_back({.from = {DeviceKind::pcie_switch, i},
                             .to = {DeviceKind::pcie_switch, (i + 1) % 3},
                             .kind = LinkKind::pcie,
                             .count = 1,
                             .GBps = std::nullopt});
  const std::string tree = draw_tree(machine);
  for (const std::string_view name : {"SW0 ", "SW1 ", "SW2 "})
    EXPECT_EQ(count(tree, name), 1U) << tree;
}

TEST(DrawMatrix, OfTwoGpusWithABridge) {
  EXPECT_EQ(draw_matrix(test::pair(), paths_of(test::pair())),
            "      GPU0  GPU1  CPU Affinity  NUMA\n"
            "GPU0  X     NV4   0-31          0\n"
            "GPU1  NV4   X     0-31          0\n"
            "\n"
            "NV#   # NVLinks\n"
            "X     itself\n");
}

TEST(DrawMatrix, OfAWorkstationNamesItsNic) {
  const Machine machine = test::workstation();
  EXPECT_EQ(draw_matrix(machine, paths_of(machine)),
            "      GPU0  GPU1  GPU2  GPU3  NIC0  CPU Affinity  NUMA\n"
            "GPU0  X     PHB   PHB   PHB   PHB   0-63          0\n"
            "GPU1  PHB   X     PHB   PHB   PHB   0-63          0\n"
            "GPU2  PHB   PHB   X     PHB   PHB   0-63          0\n"
            "GPU3  PHB   PHB   PHB   X     PHB   0-63          0\n"
            "NIC0  PHB   PHB   PHB   PHB   X\n"
            "\n"
            "PHB   through the CPU\n"
            "X     itself\n"
            "\n"
            "NIC0: eno1\n");
}

TEST(DrawMatrix, IsEmptyWithoutGpus) {
  EXPECT_EQ(draw_matrix(test::storage(), paths_of(test::storage())), "");
}

TEST(DrawMatrix, GivesBackWhatARecordingStates) {
  const Machine machine = test::matrix_only();
  const std::string matrix = draw_matrix(machine, paths_of(machine));
  EXPECT_EQ(count(matrix, "NV12"), 8U * 7);
  EXPECT_NE(matrix.find("\nNIC11: mlx5_11\n"), std::string::npos);
}

TEST(DrawText, SaysThatThereIsNoGpu) {
  EXPECT_EQ(draw_text(test::storage(), paths_of(test::storage())),
            "storage\n"
            "no GPU\n"
            "\n"
            "NUMA0 CPUs 0-15, 64 GiB\n"
            "|-- NIC0 eth0 ethernet 25 Gb/s active 0000:41:00.0 Gen3 x8\n"
            "`-- NIC1 eth1 ethernet 25 Gb/s down 0000:42:00.0 Gen3 x8\n");
}

TEST(DrawText, FindingsHavePlaceAndRemedy) {
  const std::vector<Finding> findings{
      {Severity::error, "lost-nvlink", "17 of 18 NVLinks are up.", "GPU3", "Reset it."},
      {Severity::info, "told", "Read from recordings.", "", ""}};
  EXPECT_EQ(draw_findings(findings),
            "error: 17 of 18 NVLinks are up. [lost-nvlink]\n"
            "  where: GPU3\n"
            "  do: Reset it.\n"
            "info: Read from recordings. [told]\n");
}

TEST(DrawText, NamesKeepNoControlBytesAndAreCut) {
  EXPECT_EQ(plain("a\x1b[31mb\n"), "a [31mb ");
  EXPECT_EQ(plain(std::string(100, 'x'), 10), "xxxxxxx...");
  // No half letter: the cut would fall into the second e.
  EXPECT_EQ(plain("abc\xc3\xa9\xc3\xa9zzzz", 9), "abc\xc3\xa9...");
}

TEST(DrawText, OfAFabricCountsTiersAndRails) {
  Fabric fabric;
  fabric.tiers = 1;
  fabric.switches.push_back({.guid = "S1", .name = "leaf1", .tier = 0, .ports = {}});
  FabricAdapter adapter;
  adapter.guid = "A1";
  adapter.host = "node1";
  fabric.adapters.push_back(adapter);
  fabric.rails.push_back({.device = "mlx5_0", .switches = {"S1"}, .adapters = {"A1"}});
  EXPECT_EQ(draw_fabric(fabric),
            "fabric: 1 switch in 1 tier, 1 adapter of 1 named host\n"
            "  tier 0: 1 switch\n"
            "  rail 0 (mlx5_0): 1 adapter on leaf1\n");
  fabric.switches.push_back({.guid = "S2", .name = "leaf2", .tier = 0, .ports = {}});
  fabric.adapters.push_back(adapter);
  EXPECT_EQ(draw_fabric(fabric).find("fabric: 2 switches in 1 tier, 2 adapters of 1 named host\n"
                                     "  tier 0: 2 switches\n"),
            0U);
}

TEST(DrawText, OfBlocksHasNoRowsOfWhatThereIsNot) {
  Fabric fabric;
  fabric.blocks = {{"n1", "n2"}, {"n3"}};
  EXPECT_EQ(draw_fabric(fabric),
            "fabric: 2 blocks of 3 hosts\n"
            "  block 0: 2 hosts: n1, n2\n"
            "  block 1: 1 host: n3\n");
}

TEST(DrawDot, OfTwoGpusWithABridge) {
  Machine machine = test::pair();
  machine.findings = {{Severity::error, "lost-nvlink", "m", "GPU1", ""}};
  EXPECT_EQ(
      draw_dot(machine, paths_of(machine)),
      "graph \"pair\" {\n"
      "  rankdir=TB;\n"
      "  node [shape=box, style=filled, fontname=\"Helvetica\"];\n"
      "  edge [fontname=\"Helvetica\", fontsize=10];\n"
      "  subgraph \"cluster_NUMA0\" {\n"
      "    \"NUMA0\" [label=\"NUMA0 CPUs 0-31\", fillcolor=\"#e6eaef\", color=\"#8793a0\"];\n"
      "    \"GPU0\" [label=\"GPU0 NVIDIA RTX A6000 0000:01:00.0 Gen4 x16\", "
      "fillcolor=\"#e3f4d7\", color=\"#4f8a10\"];\n"
      "    \"GPU1\" [label=\"GPU1 NVIDIA RTX A6000 0000:02:00.0 Gen4 x16\", "
      "fillcolor=\"#fdeaea\", color=\"#d0021b\", penwidth=3];\n"
      "  }\n"
      "  \"NUMA0\" -- \"GPU0\" [label=\"Gen4 x16, 24 GB/s\", color=\"#56697d\", penwidth=4];\n"
      "  \"NUMA0\" -- \"GPU1\" [label=\"Gen4 x16, 24 GB/s\", color=\"#56697d\", penwidth=4];\n"
      "  \"GPU0\" -- \"GPU1\" [label=\"nvlink x4, 48 GB/s\", color=\"#5b9a17\", penwidth=2.4];\n"
      "}\n");
}

TEST(DrawDot, NodesAreAllDevicesOnce) {
  const Machine machine = test::dgx2();
  const std::string dot = draw_dot(machine, paths_of(machine));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(count(dot, "  \"" + to_string(DeviceId{DeviceKind::gpu, i}) + "\" [label="), 1U);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(count(dot, "  \"" + to_string(DeviceId{DeviceKind::nvswitch, i}) + "\" [label="), 1U);
}

TEST(DrawDot, WithoutLinksNearPairsAreEdges) {
  const Machine machine = test::matrix_only();
  EXPECT_EQ(count(draw_dot(machine, paths_of(machine)), "label=\"NV12\""), 8U * 7 / 2);
}

TEST(DrawDot, HostileNamesStayInTheirQuotes) {
  Machine machine = test::pair();
  machine.name = "a\"]; b\\";
  machine.gpus[0].name = "\"\n\xff\\";
  const std::string dot = draw_dot(machine, paths_of(machine));
  EXPECT_TRUE(dot.starts_with("graph \"a\\\"]; b\\\\\" {\n")) << dot;
  EXPECT_NE(dot.find("label=\"GPU0 \\\" ?\\\\ 0000:01:00.0 Gen4 x16\""), std::string::npos) << dot;
}

TEST(DrawText, ARecordingThatCannotShowGpusIsNotTakenForAHostWithout) {
  Machine machine;
  machine.sources = {"ibstat", "ip-brief"};
  EXPECT_THAT(draw_text(machine, paths_of(machine)), testing::HasSubstr("GPUs not shown\n"));
  machine.sources.push_back("lspci");
  EXPECT_THAT(draw_text(machine, paths_of(machine)), testing::HasSubstr("no GPU\n"));
}

}  // namespace
}  // namespace lockstep::topology
