// Flip, crop, normalise, and the pipeline that runs them.
#include "runtime/data/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace lockstep::runtime::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<std::uint8_t>;
// What a transform made, to be compared.
using Values = std::vector<int>;

Bytes counting(const ImageShape& shape) {
  Bytes bytes(shape.elements());
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

RandomStream stream(std::uint64_t index) {
  return {1, Purpose::augmentation, 0, index};
}

Values applied(const Transform& transform, const ImageShape& shape, std::uint64_t index = 0) {
  const Bytes bytes = counting(shape);
  Bytes space;
  const Pixels result = transform.apply({bytes, shape}, stream(index), space);
  EXPECT_EQ(result.shape, transform.output(shape));
  EXPECT_EQ(result.bytes.size(), result.shape.elements());
  return {result.bytes.begin(), result.bytes.end()};
}

TEST(Flip, ExchangesLeftAndRight) {
  EXPECT_THAT(applied(*make_flip(1), {2, 3, 1}), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(applied(*make_flip(1), {2, 2, 3}),
              ElementsAre(4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9));
  EXPECT_THAT(applied(*make_flip(0), {1, 3, 1}), ElementsAre(1, 2, 3));
}

TEST(Flip, HappensAsOftenAsAsked) {
  const auto flip = make_flip(0.25);
  int flipped = 0;
  for (std::uint64_t index = 0; index < 4000; ++index) {
    flipped += applied(*flip, {1, 2, 1}, index)[0] == 2 ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 1000, 5 * 27.4);
}

TEST(Crop, EveryPlaceComesUp) {
  // 2x2 with padding 1, cut to 2x2: nine places.
  const auto crop = make_random_crop({1, std::nullopt});
  std::set<Values> seen;
  for (std::uint64_t index = 0; index < 500; ++index) seen.insert(applied(*crop, {2, 2, 1}, index));
  const std::set<Values> all = {{0, 0, 0, 1}, {0, 0, 1, 2}, {0, 0, 2, 0},
                                {0, 1, 0, 3}, {1, 2, 3, 4}, {2, 0, 4, 0},
                                {0, 3, 0, 0}, {3, 4, 0, 0}, {4, 0, 0, 0}};
  EXPECT_EQ(seen, all);
}

TEST(Crop, SizeIsCutOut) {
  const auto crop = make_random_crop({0, 1});
  std::set<Values> seen;
  for (std::uint64_t index = 0; index < 200; ++index) seen.insert(applied(*crop, {2, 2, 2}, index));
  EXPECT_EQ(seen, (std::set<Values>{{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
}

TEST(Crop, PaddingWiderThanTheImageIsZero) {
  const auto crop = make_random_crop({5, 2});
  for (std::uint64_t index = 0; index < 300; ++index) {
    EXPECT_EQ(applied(*crop, {2, 3, 1}, index).size(), 4U);
  }
}

TEST(Crop, LargerThanThePaddedImageIsAnError) {
  const auto crop = make_random_crop({1, 5});
  try {
    static_cast<void>(crop->output({2, 9, 1}));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("a crop of 5x5 does not fit images of 2x9x1 with padding 1"));
  }
}

TEST(CenterCrop, CutsTheMiddle) {
  EXPECT_THAT(applied(*make_center_crop(2), {4, 4, 1}), ElementsAre(6, 7, 10, 11));
  EXPECT_THAT(applied(*make_center_crop(1), {2, 2, 1}), ElementsAre(1));
  EXPECT_THAT(applied(*make_center_crop(3), {1, 1, 1}), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(applied(*make_center_crop(2), {1, 1, 1}), ElementsAre(0, 0, 0, 1));
}

TEST(Normalise, IsTheFormula) {
  // Odd lengths, so that blocks and remainders are both run.
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    std::vector<double> mean;
    std::vector<double> std;
    for (std::int64_t c = 0; c < channels; ++c) {
      mean.push_back(0.1 * static_cast<double>(c + 1));
      std.push_back(0.3 + 0.2 * static_cast<double>(c));
    }
    const Normalise normalise(mean, std, channels);
    Bytes bytes(static_cast<std::size_t>(channels) * 77);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    std::vector<float> floats(bytes.size());
    normalise.apply(bytes, floats);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t c = i % static_cast<std::size_t>(channels);
      EXPECT_NEAR(floats[i], (bytes[i] / 255.0 - mean[c]) / std[c], 1e-6);
    }
  }
}

TEST(Normalise, OneValueServesAllChannels) {
  const Normalise one({0.5}, {0.25}, 3);
  const Normalise each({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}, 3);
  const Bytes bytes = counting({3, 5, 3});
  std::vector<float> from_one(bytes.size());
  std::vector<float> from_each(bytes.size());
  one.apply(bytes, from_one);
  each.apply(bytes, from_each);
  EXPECT_EQ(from_one, from_each);
}

TEST(Normalise, WrongNumberOfChannelsIsAnError) {
  try {
    const Normalise normalise({0.5, 0.5, 0.5}, {1}, 1);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mean has 3 values for images of 1 channels"));
  }
}

std::vector<TransformSpec> all_transforms() {
  TransformSpec flip;
  TransformSpec crop;
  crop.kind = TransformKind::crop;
  crop.padding = 2;
  crop.size = 6;
  TransformSpec normalise;
  normalise.kind = TransformKind::normalise;
  normalise.mean = {0.5};
  normalise.std = {0.5};
  return {flip, crop, flip, normalise};
}

std::vector<float> run(const Pipeline& pipeline, const SampleKey& key) {
  const Bytes bytes = counting(pipeline.input());
  std::vector<float> floats(pipeline.output().elements());
  TransformScratch scratch;
  pipeline.run(bytes, key, scratch, floats);
  return floats;
}

TEST(Pipeline, ResultDependsOnSeedEpochAndSampleAlone) {
  const Pipeline pipeline(all_transforms(), {8, 8, 3}, Mode::training);
  EXPECT_EQ(pipeline.output(), (ImageShape{6, 6, 3}));
  EXPECT_EQ(run(pipeline, {1, 2, 3}), run(pipeline, {1, 2, 3}));
  std::set<std::vector<float>> by_seed;
  std::set<std::vector<float>> by_epoch;
  std::set<std::vector<float>> by_sample;
  for (std::uint64_t i = 0; i < 20; ++i) {
    by_seed.insert(run(pipeline, {i, 0, 0}));
    by_epoch.insert(run(pipeline, {1, i, 0}));
    by_sample.insert(run(pipeline, {1, 0, i}));
  }
  EXPECT_GT(by_seed.size(), 10U);
  EXPECT_GT(by_epoch.size(), 10U);
  EXPECT_GT(by_sample.size(), 10U);
}

TEST(Pipeline, TransformsOfOneKindDrawTheirOwnNumbers) {
  const std::vector<TransformSpec> two_flips(2);
  const Pipeline pipeline(two_flips, {1, 2, 1}, Mode::training);
  std::set<std::vector<float>> seen;
  for (std::uint64_t i = 0; i < 50; ++i) seen.insert(run(pipeline, {1, 0, i}));
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Pipeline, EvaluationOnlyCutsTheMiddleAndNormalises) {
  const Pipeline pipeline(all_transforms(), {8, 8, 1}, Mode::evaluation);
  const std::vector<float> result = run(pipeline, {1, 2, 3});
  EXPECT_EQ(result, run(pipeline, {9, 9, 9}));
  ASSERT_EQ(result.size(), 36U);
  EXPECT_NEAR(result[0], (10 / 255.0 - 0.5) / 0.5, 1e-6);
  EXPECT_NEAR(result[35], (55 / 255.0 - 0.5) / 0.5, 1e-6);
}

TEST(Pipeline, WithoutTransformsPixelsAreZeroToOne) {
  const Pipeline pipeline({}, {1, 2, 1}, Mode::training);
  std::vector<float> floats(2);
  TransformScratch scratch;
  const Bytes bytes = {0, 255};
  pipeline.run(bytes, {}, scratch, floats);
  EXPECT_THAT(floats, ElementsAre(0.0F, 1.0F));
}

}  // namespace
}  // namespace lockstep::runtime::data
