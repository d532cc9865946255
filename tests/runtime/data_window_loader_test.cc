// The loader on windows of tokens: the promises it makes for images hold for them too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/loader.h"
#include "tests/runtime/data_files.h"

namespace lockstep::runtime::data {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kContext = 5;

using Row = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;  // tokens, labels

class WindowLoader : public DataFiles {
 protected:
  // A file in which token i is i.
  std::unique_ptr<Source> source_of(std::int64_t tokens, Split split) const {
    Bytes bytes;
    for (std::int64_t token = 0; token < tokens; ++token) {
      bytes.push_back(static_cast<std::uint8_t>(token));
      bytes.push_back(static_cast<std::uint8_t>(token >> 8));
    }
    Job job;
    job.data.train.format = DataFormat::tokens;
    job.data.train.path = write("tokens", bytes);
    job.data.eval = job.data.train;
    return open_source(job, split, {.context = kContext});
  }

  static LoaderOptions small(std::int64_t batch, Mode mode = Mode::training) {
    LoaderOptions options;
    options.batch = batch;
    options.mode = mode;
    return options;
  }

  static Row row_of(const Batch& batch, std::int64_t row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * kContext);
    return {{batch.tokens.begin() + begin, batch.tokens.begin() + begin + kContext},
            {batch.labels.begin() + begin, batch.labels.begin() + begin + kContext}};
  }

  // The rows of a step's global batch, of all ranks and micro-steps.
  static std::map<std::int64_t, Row> step_of(const Source& source, LoaderOptions options,
                                             Position position) {
    std::map<std::int64_t, Row> rows;
    for (options.rank = 0; options.rank < options.world; ++options.rank) {
      Loader loader(source, {}, options);
      loader.seek(position);
      for (std::int64_t micro = 0; micro < options.accumulate; ++micro) {
        const Batch& batch = loader.next();
        EXPECT_EQ(batch.step, position.step);
        for (std::int64_t row = 0; row < batch.count; ++row) {
          rows[batch.rows[static_cast<std::size_t>(row)]] = row_of(batch, row);
        }
      }
    }
    return rows;
  }
};

TEST_F(WindowLoader, BatchesHaveTokensAndNoImages) {
  const auto source = source_of(100, Split::train);
  Loader loader(*source, {}, small(4));
  EXPECT_EQ(loader.shape(), source->shape());
  const Batch& batch = loader.next();
  EXPECT_THAT(batch.images, IsEmpty());
  EXPECT_EQ(batch.tokens.size(), 20U);
  EXPECT_EQ(batch.labels.size(), 20U);
  EXPECT_THAT(batch.weights, Each(1.0F));
  EXPECT_EQ(batch.global_weight, 20);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(batch.labels[i], batch.tokens[i] + 1);
}

TEST_F(WindowLoader, GlobalBatchIsTheSameForAnyWorldThreadsAndAccumulation) {
  const auto source = source_of(500, Split::train);
  LoaderOptions options = small(12);
  options.threads = 0;
  for (const Position position : {Position{0, 0}, {0, 7}, {3, 2}}) {
    options.world = options.accumulate = 1;
    const auto expected = step_of(*source, options, position);
    EXPECT_EQ(expected.size(), 12U);
    for (const std::int64_t threads : {0, 1, 3}) {
      for (const auto& [world, accumulate] : {std::pair{2, 1}, {3, 2}, {5, 1}, {1, 4}}) {
        LoaderOptions other = options;
        other.threads = threads;
        other.world = world;
        other.accumulate = accumulate;
        EXPECT_EQ(step_of(*source, other, position), expected) << world << " " << threads;
      }
    }
  }
}

TEST_F(WindowLoader, EvaluationHasEveryLabelOnceAtAnyWorld) {
  const auto source = source_of(98, Split::eval);  // 20 windows, the last of 2 labels
  for (std::int64_t world = 1; world <= 5; ++world) {
    for (const std::int64_t size : {5, 7, 20, 31}) {
      LoaderOptions options = small(size, Mode::evaluation);
      options.world = world;
      std::map<std::int32_t, int> labels;
      for (options.rank = 0; options.rank < world; ++options.rank) {
        Loader loader(*source, {}, options);
        for (bool last = false; !last;) {
          const Batch& batch = loader.next();
          for (const std::int32_t label : batch.labels) ++labels[label];
          for (std::int64_t row = batch.count; row < batch.capacity; ++row) {
            const Row padding = row_of(batch, row);
            EXPECT_THAT(padding.first, Each(0));
            EXPECT_THAT(padding.second, Each(kNoLabel));
            EXPECT_EQ(batch.weights[static_cast<std::size_t>(row)], 0.0F);
          }
          last = batch.last_of_epoch;
        }
      }
      labels.erase(kNoLabel);
      EXPECT_EQ(labels.size(), 97U);
      for (const auto& [label, times] : labels) EXPECT_EQ(times, 1) << label;
    }
  }
}

TEST_F(WindowLoader, WindowsOfAnEpochDoNotOverlapAndBeginElsewhereInTheNext) {
  const auto source = source_of(200, Split::train);
  Loader loader(*source, {}, small(13));  // 39 windows, 3 steps
  std::set<std::int32_t> shifts;
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    std::set<std::int32_t> labels;
    for (std::int64_t step = 0; step < 3; ++step) {
      const Batch& batch = loader.next();
      ASSERT_EQ(batch.epoch, epoch);
      labels.insert(batch.labels.begin(), batch.labels.end());
      shifts.insert(batch.tokens[0] % kContext);
    }
    EXPECT_EQ(labels.size(), 39U * kContext);
  }
  EXPECT_GT(shifts.size(), 2U);
}

TEST_F(WindowLoader, SeekEqualsSkipping) {
  const auto source = source_of(300, Split::train);
  LoaderOptions options = small(8);  // 59 windows, 7 steps
  Loader straight(*source, {}, options);
  std::vector<std::vector<std::int32_t>> all;
  for (int i = 0; i < 28; ++i) all.push_back(straight.next().tokens);
  Loader loader(*source, {}, options);
  for (const Position position : {Position{2, 3}, {0, 0}, {1, 6}, {3, 1}}) {
    loader.seek(position);
    const auto index = static_cast<std::size_t>(position.epoch * 7 + position.step);
    for (std::size_t i = index; i < index + 3; ++i) ASSERT_EQ(loader.next().tokens, all[i]);
  }
}

TEST_F(WindowLoader, TransformsOfImagesAreRefused) {
  const auto source = source_of(100, Split::train);
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(make_pipeline({TransformSpec{}}, source->shape(), Mode::training));
            }),
            "data.transforms: the data has windows of 5 tokens, and transforms are for images: "
            "remove them");
  EXPECT_FALSE(make_pipeline({}, source->shape(), Mode::training));
  EXPECT_THAT(refusal_of([&] {
                const Loader loader(*source, Pipeline({}, {6, 6, 1}, Mode::training), small(4));
              }),
              HasSubstr("made for images of 6x6x1, the data has windows of 5 tokens"));
  const auto images = make_synthetic({20, {6, 6, 1}, 10, 1, Split::train});
  EXPECT_EQ(refusal_of([&] { const Loader loader(*images, {}, small(4)); }),
            "the data has images of 6x6x1: expected the transforms that make floats of them");
}

}  // namespace
}  // namespace lockstep::runtime::data
