#include "topology/placement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/machines.h"

namespace lockstep::topology {
namespace {

using ::testing::ElementsAre;

std::vector<int> ids(const std::vector<DeviceId>& gpus) {
  std::vector<int> found;
  for (const DeviceId id : gpus) found.push_back(id.index);
  return found;
}

// A matrix of `gpus` in which every pair is SYS but those given.
PathTable matrix(int gpus, const std::map<std::pair<int, int>, std::string>& labels) {
  Machine machine;
  machine.gpus.resize(static_cast<std::size_t>(gpus));
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) {
      const auto found = labels.find({a, b});
      machine.stated.push_back({{DeviceKind::gpu, a},
                                {DeviceKind::gpu, b},
                                found == labels.end() ? "SYS" : found->second});
    }
  }
  return paths_of(machine);
}

PathTable interleaved_pairs() {
  return matrix(8, {{{0, 2}, "NV12"}, {{1, 3}, "NV12"}, {{4, 5}, "NV12"}, {{6, 7}, "NV12"}});
}

TEST(Acceptance, T09_GpusInInterleavedNvlinkPairsAreChosenAsPairs) {
  EXPECT_THAT(ids(best_gpus(interleaved_pairs(), 8, 2)), ElementsAre(0, 2));
  EXPECT_THAT(ids(best_gpus(interleaved_pairs(), 8, 4)), ElementsAre(0, 2, 1, 3));
}

TEST(Placement, OneGpuIsTheFirstAndAllAreAll) {
  EXPECT_THAT(ids(best_gpus(interleaved_pairs(), 8, 1)), ElementsAre(0));
  EXPECT_THAT(ids(best_gpus(interleaved_pairs(), 8, 8)), ElementsAre(0, 2, 1, 3, 4, 5, 6, 7));
  EXPECT_THAT(ids(best_gpus(paths_of(test::hgx_h100()), 8, 4)), ElementsAre(0, 1, 2, 3));
}

TEST(Placement, TheWorstPairCountsBeforeTheSum) {
  // 0 has a fat link to 1 and is far from 2; 3, 4 and 5 are under one switch.
  const PathTable paths = matrix(
      6, {{{0, 1}, "NV18"}, {{0, 2}, "NV18"}, {{3, 4}, "PIX"}, {{3, 5}, "PIX"}, {{4, 5}, "PIX"}});
  EXPECT_THAT(ids(best_gpus(paths, 6, 3)), ElementsAre(3, 4, 5));
}

TEST(Placement, MoreNvlinksAreBetterThanFewer) {
  const PathTable paths = matrix(4, {{{0, 1}, "NV1"}, {{2, 3}, "NV2"}});
  EXPECT_THAT(ids(best_gpus(paths, 4, 2)), ElementsAre(2, 3));
}

TEST(Placement, UnknownPathsAreWorse) {
  const PathTable paths = matrix(4, {{{0, 1}, "?"}, {{0, 2}, "?"}, {{0, 3}, "?"}});
  EXPECT_THAT(ids(best_gpus(paths, 4, 2)), ElementsAre(1, 2));
}

TEST(Placement, SaysWhereItDoesNotKnowOfNvlink) {
  Machine machine;
  machine.gpus.resize(2);
  machine.stated = {{{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, "NODE"}};
  EXPECT_EQ(placement_caveat(machine), "") << "a matrix without NVLinks is no matrix of PCIe only";
  machine.findings = {{Severity::info, "nvlink-not-shown", "m", "", ""}};
  EXPECT_THAT(placement_caveat(machine), ::testing::HasSubstr("does not show NVLink"));
  machine.links = {{.from = {DeviceKind::gpu, 0},
                    .to = {DeviceKind::gpu, 1},
                    .kind = LinkKind::nvlink,
                    .count = 4,
                    .GBps = {}}};
  EXPECT_EQ(placement_caveat(machine), "") << "another recording knows them";
}

TEST(Placement, ManyGpusAreChosenWithinTheirGroup) {
  // 24 GPUs in three groups of eight that are not neighbours by number: i % 3.
  std::map<std::pair<int, int>, std::string> labels;
  for (int a = 0; a < 24; ++a) {
    for (int b = a + 1; b < 24; ++b) {
      if (a % 3 == b % 3) labels[{a, b}] = a % 3 == 1 ? "NV18" : "NV12";
    }
  }
  EXPECT_THAT(ids(best_gpus(matrix(24, labels), 24, 8)), ElementsAre(1, 4, 7, 10, 13, 16, 19, 22));
}

TEST(Placement, BeyondSixteenItFindsWhatTheExactSearchFinds) {
  std::map<std::pair<int, int>, std::string> labels;
  for (int a = 0; a < 16; ++a) {
    for (int b = a + 1; b < 16; ++b) labels[{a, b}] = fmt::format("NV{}", 1 + (7 * a + 5 * b) % 11);
  }
  const auto exact = best_gpus(matrix(16, labels), 16, 4);
  // A seventeenth that is far from all changes the search, not the answer's worst pair.
  const PathTable paths = matrix(17, labels);
  const auto found = best_gpus(paths, 17, 4);
  const auto worst = [&paths](const std::vector<DeviceId>& set) {
    int least = 100;
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (std::size_t j = i + 1; j < set.size(); ++j)
        least = std::min(least, std::stoi(paths.between(set[i], set[j]).label.substr(2)));
    }
    return least;
  };
  EXPECT_EQ(worst(found), worst(exact));
}

TEST(Placement, MoreGpusThanThereAreIsAnError) {
  EXPECT_THROW((void)best_gpus(interleaved_pairs(), 8, 9), std::invalid_argument);
  EXPECT_THROW((void)best_gpus(interleaved_pairs(), 8, 0), std::invalid_argument);
  EXPECT_THROW((void)best_gpus(PathTable({}), 0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::topology
