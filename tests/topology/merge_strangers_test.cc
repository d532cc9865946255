// Recordings that were given as of one host and may not be.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/topology/merge_parts.h"
#include "topology/merge.h"

namespace lockstep::topology {
namespace {

using test::nic;
using test::of_source;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Of adapters mlx5_`first` to mlx5_`last`.
Machine list(const std::string& source, int first, int last) {
  Machine machine = of_source(source);
  for (int i = first; i <= last; ++i) machine.nics.push_back(nic(fmt::format("mlx5_{}", i)));
  return machine;
}

// A matrix of one GPU and these adapters.
Machine matrix(int first, int last) {
  Machine machine = list("nvidia-smi-topo", first, last);
  machine.gpus.resize(1);
  for (int i = 0; i <= last - first; ++i)
    machine.stated.push_back({test::gpu_id(0), test::nic_id(i), "PIX"});
  return machine;
}

// "warning different-hosts: message".
std::vector<std::string> found(const std::vector<Machine>& parts) {
  std::vector<std::string> lines;
  for (const Finding& finding : merge(parts).findings) {
    lines.push_back(
        fmt::format("{} {}: {}", to_string(finding.severity), finding.code, finding.message));
  }
  return lines;
}

TEST(MergeStrangers, AdaptersThatEachLacksAreOfDifferentHosts) {
  EXPECT_THAT(found({matrix(0, 9), list("ibstat", 2, 11)}),
              ElementsAre("warning different-hosts: these recordings do not describe the same "
                          "host: nvidia-smi-topo has mlx5_0, mlx5_1, which ibstat does not have, "
                          "and lacks mlx5_10, mlx5_11"));
}

TEST(MergeStrangers, OneNameAtTwoPlacesIsOfDifferentHosts) {
  Machine one = list("ibv_devinfo", 0, 0), other = list("nccl-xml", 0, 0);
  one.nics[0].pci.address = parse_pci_address("0000:19:00.1");
  other.nics[0].pci.address = parse_pci_address("0000:3a:00.0");
  EXPECT_THAT(found({one, other}),
              ElementsAre(AllOf(HasSubstr("warning different-hosts"),
                                HasSubstr("mlx5_0 at 0000:19:00.1 and at 0000:3a:00.0"))));
}

TEST(MergeStrangers, FunctionsThatNcclMasksAreOnePlace) {
  Machine one = list("ibv_devinfo", 0, 0), other = list("nccl-xml", 0, 0);
  one.nics[0].pci.address = parse_pci_address("0000:19:00.1");
  other.nics[0].pci.address = parse_pci_address("0000:19:00.0");
  EXPECT_THAT(found({one, other}), IsEmpty());
}

TEST(MergeStrangers, AMatrixOfFewerAdaptersIsAHint) {
  EXPECT_THAT(found({matrix(0, 9), list("ibstat", 0, 11)}),
              ElementsAre("info adapters-missing: nvidia-smi-topo does not have mlx5_10, mlx5_11, "
                          "which ibstat has: they are hidden from where it was recorded, or these "
                          "recordings do not describe the same host"));
  EXPECT_THAT(found({list("ibstat", 0, 7), matrix(0, 9)}),
              ElementsAre(HasSubstr("info adapters-missing: ibstat does not have mlx5_8, mlx5_9")));
}

TEST(MergeStrangers, PartsOfOneHostHaveNoFindings) {
  EXPECT_THAT(found({matrix(0, 11), list("ibstat", 0, 11), list("show_gids", 0, 3)}), IsEmpty());
  EXPECT_THAT(found({matrix(0, 11), list("ibv_devinfo", 4, 5)}), IsEmpty()) << "asked for two";
  EXPECT_THAT(found({list("ibv_devinfo", 4, 4), list("ibv_devinfo", 5, 5)}), IsEmpty())
      << "asked for one each";
  // By interface, and NCCL's own names.
  Machine interfaces = of_source("hwloc-xml");
  interfaces.nics = {nic("ibp25s0"), nic("eth0")};
  Machine devices = list("ibdev2netdev", 0, 1);
  devices.nics[0].netdev = "ibp25s0";
  EXPECT_THAT(found({interfaces, devices}), IsEmpty());
  Machine fused = list("nccl-xml", 0, 0);
  fused.nics.push_back(nic("mlx5_1+mlx5_2"));
  EXPECT_THAT(found({fused, list("ibstat", 0, 3)}), IsEmpty());
}

}  // namespace
}  // namespace lockstep::topology
