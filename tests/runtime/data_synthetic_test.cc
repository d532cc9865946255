// Made-up samples: the same each time, and such that they can be learned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

using Image = std::vector<std::uint8_t>;

Image image_of(const Source& source, std::size_t index) {
  Sample sample;
  source.read({index}, sample);
  return {sample.pixels.begin(), sample.pixels.end()};
}

std::int32_t label_of(const Source& source, std::size_t index) {
  Sample sample;
  source.read({index}, sample);
  return sample.label;
}

TEST(Synthetic, SamplesAreAFunctionOfSeedSplitAndIndex) {
  const SyntheticOptions options{300, {28, 28, 1}, 10, 5, Split::train};
  const auto source = make_synthetic(options);
  const auto again = make_synthetic(options);
  auto other_seed = options;
  other_seed.seed = 6;
  auto other_split = options;
  other_split.split = Split::eval;
  EXPECT_EQ(source->size(), 300U);
  EXPECT_EQ(image_of(*source, 123), image_of(*again, 123));
  EXPECT_NE(image_of(*source, 123), image_of(*source, 133));
  EXPECT_NE(image_of(*source, 123), image_of(*make_synthetic(other_seed), 123));
  EXPECT_NE(image_of(*source, 123), image_of(*make_synthetic(other_split), 123));
}

TEST(Synthetic, EveryClassComesUp) {
  const auto source = make_synthetic({50, {8, 8, 3}, 7, 1, Split::train});
  std::set<std::int32_t> labels;
  for (std::size_t i = 0; i < source->size(); ++i) labels.insert(label_of(*source, i));
  EXPECT_EQ(labels, (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

// The plainest of classifiers, the nearest mean of the training set, knows nearly all of the
// evaluation set.
TEST(Synthetic, CanBeLearned) {
  constexpr std::size_t kClasses = 10;
  const ImageShape shape{28, 28, 1};
  const auto train = make_synthetic({500, shape, kClasses, 1, Split::train});
  const auto eval = make_synthetic({200, shape, kClasses, 1, Split::eval});
  std::vector<std::vector<double>> means(kClasses, std::vector<double>(shape.elements()));
  for (std::size_t i = 0; i < train->size(); ++i) {
    const Image image = image_of(*train, i);
    auto& mean = means.at(static_cast<std::size_t>(label_of(*train, i)));
    for (std::size_t p = 0; p < image.size(); ++p) mean[p] += image[p] / 50.0;
  }
  int right = 0;
  for (std::size_t i = 0; i < eval->size(); ++i) {
    const Image image = image_of(*eval, i);
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      double distance = 0;
      for (std::size_t p = 0; p < image.size(); ++p) {
        distance += (image[p] - means[c][p]) * (image[p] - means[c][p]);
      }
      if (distance < least) best = c;
      least = std::min(least, distance);
    }
    right += best == static_cast<std::size_t>(label_of(*eval, i)) ? 1 : 0;
  }
  EXPECT_GE(right, 190);
}

TEST(Synthetic, ManySamplesCostNoMemory) {
  const auto source = make_synthetic({4000000000, {28, 28, 1}, 10, 1, Split::train});
  EXPECT_EQ(source->size(), 4000000000U);
  EXPECT_EQ(image_of(*source, 3999999999).size(), 784U);
}

TEST(Synthetic, NothingToMakeIsAnError) {
  EXPECT_THROW(static_cast<void>(make_synthetic({0, {28, 28, 1}, 10, 1, Split::train})), DataError);
  EXPECT_THROW(static_cast<void>(make_synthetic({1, {28, 28, 1}, 0, 1, Split::train})), DataError);
  EXPECT_THROW(static_cast<void>(make_synthetic({1, {28, 0, 1}, 10, 1, Split::train})), DataError);
}

TEST(OpenSource, SyntheticShapeFollowsFromTheModel) {
  Job job;
  job.data.train = {DataFormat::synthetic, {}, {}, 20};
  job.model.kind = ModelKind::lenet;
  EXPECT_EQ(open_source(job, Split::train)->shape().image, (ImageShape{28, 28, 1}));
  job.model.kind = ModelKind::resnet;
  EXPECT_EQ(open_source(job, Split::train)->shape().image, (ImageShape{32, 32, 3}));
  job.model.stem = Stem::imagenet;
  EXPECT_EQ(open_source(job, Split::train)->shape().image, (ImageShape{224, 224, 3}));
  EXPECT_THROW(static_cast<void>(open_source(job, Split::eval)), DataError);
  job.data.eval = DatasetSpec{DataFormat::idx, "/nowhere/images", "/nowhere/labels", 0};
  EXPECT_THROW(static_cast<void>(open_source(job, Split::eval)), DataError);
}

}  // namespace
}  // namespace lockstep::runtime::data
