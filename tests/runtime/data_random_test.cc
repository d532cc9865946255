// Counter-based random numbers and the order of an epoch.
#include "runtime/data/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "runtime/data/sampler.h"

namespace lockstep::runtime::data {
namespace {

// The vectors that come with the authors' Random123 library (kat_vectors, philox4x32 with 10
// rounds).
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, EachOfItsKeysChangesTheNumbers) {
  const auto first = [](std::uint64_t seed, Purpose purpose, std::uint64_t epoch,
                        std::uint64_t index) {
    return RandomStream(seed, purpose, epoch, index).bits();
  };
  const std::set<std::uint32_t> numbers = {
      first(1, Purpose::order, 0, 0),
      first(2, Purpose::order, 0, 0),
      first(1ULL << 32 | 1, Purpose::order, 0, 0),
      first(1, Purpose::augmentation, 0, 0),
      first(1, Purpose::order, 1, 0),
      first(1, Purpose::order, 0, 1),
      first(1, Purpose::order, 0, 1ULL << 48),
  };
  EXPECT_EQ(numbers.size(), 7U);
  EXPECT_EQ(first(5, Purpose::order, 6, 7), first(5, Purpose::order, 6, 7));
}

TEST(RandomStream, NumbersAreSpreadEvenly) {
  constexpr std::uint32_t kBound = 7;
  constexpr int kDraws = 70000;
  RandomStream random(3, Purpose::augmentation, 0, 0);
  std::array<int, kBound> counts{};
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    ++counts.at(random.below(kBound));
    const double unit = random.unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum += unit;
  }
  // Five standard deviations.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 5 * 93);
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.289 / 264);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(EpochOrder, IsAPermutation) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1001}}) {
    std::vector<std::uint32_t> order = shuffled_order(size, 1, 0);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> all(size);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(order, all);
  }
}

TEST(EpochOrder, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(shuffled_order(100, 1, 2), shuffled_order(100, 1, 2));
  EXPECT_NE(shuffled_order(100, 1, 2), shuffled_order(100, 1, 3));
  EXPECT_NE(shuffled_order(100, 1, 2), shuffled_order(100, 2, 2));
}

// Checkpoints of earlier versions resume in the same order.
TEST(EpochOrder, StaysTheSameFromVersionToVersion) {
  EXPECT_EQ(shuffled_order(8, 1, 0), (std::vector<std::uint32_t>{1, 0, 4, 2, 5, 3, 6, 7}));
}

TEST(EpochOrder, EverySampleCanComeFirst) {
  std::array<int, 5> first{};
  for (std::uint64_t epoch = 0; epoch < 5000; ++epoch) ++first.at(shuffled_order(5, 9, epoch)[0]);
  for (const int count : first) EXPECT_NEAR(count, 1000, 5 * 28.3);
}

}  // namespace
}  // namespace lockstep::runtime::data
