// The loader: the same batches for any number of threads, every sample once, seek, errors, ends.
#include "runtime/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::runtime::data {
namespace {

using ::testing::HasSubstr;

std::vector<TransformSpec> transforms() {
  TransformSpec flip;
  TransformSpec crop;
  crop.kind = TransformKind::crop;
  crop.padding = 1;
  return {flip, crop};
}

std::unique_ptr<Source> source_of(std::size_t samples) {
  return make_synthetic({samples, {6, 6, 1}, 10, 1, Split::train});
}

std::unique_ptr<Loader> make_loader(const Source& source, const LoaderOptions& options) {
  return std::make_unique<Loader>(source, make_pipeline(transforms(), source.shape(), options.mode),
                                  options);
}

LoaderOptions small(std::int64_t batch, std::int64_t threads = 2) {
  LoaderOptions options;
  options.batch = batch;
  options.threads = threads;
  return options;
}

bool same(const Batch& a, const Batch& b) {
  return a.images == b.images && a.labels == b.labels && a.weights == b.weights &&
         a.rows == b.rows && a.samples == b.samples && a.count == b.count &&
         a.global_weight == b.global_weight && a.epoch == b.epoch && a.step == b.step &&
         a.micro == b.micro && a.last_of_step == b.last_of_step &&
         a.last_of_epoch == b.last_of_epoch;
}

std::vector<Batch> take(Loader& loader, int batches) {
  std::vector<Batch> taken;
  for (int i = 0; i < batches; ++i) taken.push_back(loader.next());
  return taken;
}

TEST(Loader, SameBatchesForAnyNumberOfThreads) {
  const auto source = source_of(53);
  for (const std::int64_t accumulate : {1, 2}) {
    LoaderOptions options = small(7, 0);
    options.accumulate = accumulate;
    options.world = 2;
    options.rank = 1;
    const std::vector<Batch> expected = take(*make_loader(*source, options), 50);
    for (std::int64_t threads = 1; threads <= 4; ++threads) {
      for (const std::int64_t prefetch : {1, 2, 5}) {
        options.threads = threads;
        options.prefetch = prefetch;
        const std::vector<Batch> found = take(*make_loader(*source, options), 50);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(same(expected[i], found[i])) << threads << " threads, batch " << i;
        }
      }
    }
  }
}

// The samples of one pass, with how often each came; over all ranks.
std::map<std::int64_t, int> pass_over(const Source& source, LoaderOptions options,
                                      std::int64_t epoch) {
  std::map<std::int64_t, int> seen;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    const auto loader = make_loader(source, options);
    loader->seek({epoch, 0});
    for (bool last = false; !last;) {
      const Batch& batch = loader->next();
      EXPECT_EQ(batch.epoch, epoch);
      for (std::size_t row = 0; row < batch.samples.size(); ++row) {
        const bool padding = static_cast<std::int64_t>(row) >= batch.count;
        EXPECT_EQ(batch.weights[row], padding ? 0.0F : 1.0F);
        if (padding) {
          EXPECT_EQ(batch.samples[row], -1);
        } else {
          ++seen[batch.samples[row]];
        }
      }
      last = batch.last_of_epoch;
    }
  }
  return seen;
}

TEST(Loader, EverySampleOnceInAnEpoch) {
  const auto source = source_of(64);
  for (std::int64_t world = 1; world <= 5; ++world) {
    LoaderOptions options = small(16);
    options.world = world;
    options.accumulate = 2;
    const auto seen = pass_over(*source, options, 3);
    EXPECT_EQ(seen.size(), 64U);
    for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << sample;
  }
}

TEST(Loader, OddBatchesDropTheTail) {
  const auto source = source_of(64);
  for (std::int64_t world = 1; world <= 5; ++world) {
    LoaderOptions options = small(13);
    options.world = world;
    const auto seen = pass_over(*source, options, 0);
    EXPECT_EQ(seen.size(), 52U);
    for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << sample;
  }
}

TEST(Loader, EvaluationCountsEverySampleOnce) {
  const auto source = source_of(61);
  for (std::int64_t world = 1; world <= 5; ++world) {
    for (const std::int64_t batch : {5, 16, 61, 100}) {
      LoaderOptions options = small(batch);
      options.world = world;
      options.mode = Mode::evaluation;
      const auto seen = pass_over(*source, options, 0);
      EXPECT_EQ(seen.size(), 61U);
      for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << sample;
    }
  }
}

TEST(Loader, GlobalBatchIsTheSameForAnyWorldAndAccumulation) {
  const auto source = source_of(60);
  // Sample and first pixels by row of the global batch.
  const auto step_of = [&](std::int64_t world, std::int64_t accumulate) {
    std::map<std::int64_t, std::pair<std::int64_t, std::vector<float>>> rows;
    LoaderOptions options = small(12);
    options.world = world;
    options.accumulate = accumulate;
    for (options.rank = 0; options.rank < world; ++options.rank) {
      const auto loader = make_loader(*source, options);
      loader->seek({2, 3});
      for (std::int64_t micro = 0; micro < accumulate; ++micro) {
        const Batch& batch = loader->next();
        EXPECT_EQ(batch.global_weight, 12);
        EXPECT_EQ(batch.last_of_step, micro + 1 == accumulate);
        for (std::size_t row = 0; row < static_cast<std::size_t>(batch.count); ++row) {
          const auto first = batch.images.begin() + static_cast<std::ptrdiff_t>(row * 36);
          rows[batch.rows[row]] = {batch.samples[row], {first, first + 36}};
        }
      }
    }
    return rows;
  };
  const auto expected = step_of(1, 1);
  EXPECT_EQ(expected.size(), 12U);
  EXPECT_EQ(step_of(2, 1), expected);
  EXPECT_EQ(step_of(3, 2), expected);
  EXPECT_EQ(step_of(5, 1), expected);
}

TEST(Loader, BatchHoldsItsSamplesPixelsAndLabels) {
  const auto source = source_of(20);
  Loader loader(*source, make_pipeline({}, source->shape(), Mode::training), small(4));
  const Batch& batch = loader.next();
  Sample sample;
  for (std::size_t row = 0; row < 4; ++row) {
    source->read({static_cast<std::size_t>(batch.samples[row])}, sample);
    EXPECT_EQ(batch.labels[row], sample.label);
    EXPECT_EQ(batch.rows[row], static_cast<std::int64_t>(row));
    for (std::size_t p = 0; p < 36; ++p) {
      EXPECT_NEAR(batch.images[row * 36 + p], sample.pixels[p] / 255.0, 1e-6);
    }
  }
}

TEST(Loader, EpochsHaveDifferentOrders) {
  const auto source = source_of(40);
  const auto loader = make_loader(*source, small(40));
  const std::vector<std::int64_t> first = loader->next().samples;
  EXPECT_NE(loader->next().samples, first);
}

TEST(Loader, SeekEqualsSkipping) {
  const auto source = source_of(50);
  LoaderOptions options = small(8);
  options.accumulate = 2;
  const auto straight = make_loader(*source, options);
  const std::vector<Batch> all = take(*straight, 40);  // 6 steps an epoch, 12 batches
  const auto loader = make_loader(*source, options);
  for (const Position position : {Position{2, 3}, {0, 0}, {0, 5}, {1, 6}, {3, 0}, {1, 1}}) {
    loader->seek(position);
    const auto index = static_cast<std::size_t>(position.epoch * 12 + position.step * 2);
    for (std::size_t i = index; i < index + 4; ++i) ASSERT_TRUE(same(loader->next(), all[i]));
  }
  EXPECT_THROW(loader->seek({0, 7}), DataError);
  EXPECT_THROW(loader->seek({-1, 0}), DataError);
}

TEST(Loader, PositionIsTheStepToCome) {
  const auto source = source_of(20);
  LoaderOptions options = small(8);
  options.accumulate = 2;
  const auto loader = make_loader(*source, options);
  EXPECT_EQ(loader->position(), (Position{0, 0}));
  static_cast<void>(loader->next());
  EXPECT_EQ(loader->position(), (Position{0, 0}));  // in the midst of a step
  static_cast<void>(loader->next());
  EXPECT_EQ(loader->position(), (Position{0, 1}));
  take(*loader, 2);
  EXPECT_EQ(loader->position(), (Position{1, 0}));
  loader->seek({4, 2});
  EXPECT_EQ(loader->position(), (Position{5, 0}));
}

// A source whose sample `bad` cannot be read, and that can hold its readers up.
class DamagedSource final : public Source {
 public:
  explicit DamagedSource(std::int64_t bad) : whole_(source_of(40)), bad_(bad) {}
  std::size_t size() const override { return whole_->size(); }
  SampleShape shape() const override { return whole_->shape(); }
  std::int64_t classes() const override { return whole_->classes(); }
  void read(const SamplePlace& place, Sample& sample) const override {
    if (static_cast<std::int64_t>(place.index) == bad_)
      throw DataError("sample " + std::to_string(place.index));
    whole_->read(place, sample);
  }

 private:
  std::unique_ptr<Source> whole_;
  std::int64_t bad_;
};

TEST(Loader, ErrorComesAtItsTurnAndStays) {
  for (std::int64_t threads = 0; threads <= 3; ++threads) {
    const DamagedSource source(25);
    LoaderOptions options = small(10, threads);
    options.mode = Mode::evaluation;
    const auto loader = make_loader(source, options);
    take(*loader, 2);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        static_cast<void>(loader->next());
        FAIL() << "the damaged sample was read";
      } catch (const DataError& error) {
        EXPECT_STREQ(error.what(), "sample 25");
      }
    }
    EXPECT_EQ(loader->position(), (Position{0, 2}));
    loader->seek({0, 3});
    EXPECT_EQ(loader->next().samples[0], 30);
  }
}

// A source that counts its reads.
class CountingSource final : public Source {
 public:
  std::size_t size() const override { return whole_->size(); }
  SampleShape shape() const override { return whole_->shape(); }
  std::int64_t classes() const override { return whole_->classes(); }
  void read(const SamplePlace& place, Sample& sample) const override {
    whole_->read(place, sample);
    const std::lock_guard lock(mutex_);
    ++reads_;
    changed_.notify_all();
  }
  // Waits until that many samples were read; false after half a minute.
  bool wait_for(std::int64_t reads) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return reads_ >= reads; });
  }
  std::int64_t reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  std::unique_ptr<Source> whole_ = source_of(1000);
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::int64_t reads_ = 0;
};

TEST(Loader, MakesAsManyBatchesAheadAsAskedAndNoMore) {
  const CountingSource source;
  LoaderOptions options = small(10);
  options.prefetch = 3;
  {
    const auto loader = make_loader(source, options);
    EXPECT_TRUE(source.wait_for(30));
    static_cast<void>(loader->next());
    EXPECT_TRUE(source.wait_for(40));
  }
  EXPECT_EQ(source.reads(), 40);
}

TEST(Loader, EndsAtAnyTime) {
  const auto source = source_of(100);
  for (int round = 0; round < 200; ++round) {
    LoaderOptions options = small(10, 1 + round % 4);
    options.prefetch = 1 + round % 3;
    const auto loader = make_loader(*source, options);
    take(*loader, round % 5);
    if (round % 2 == 0) loader->seek({round, round % 10});
  }
}

TEST(Loader, WaitingIsMeasured) {
  const auto source = source_of(100);
  const auto loader = make_loader(*source, small(10, 0));
  EXPECT_EQ(loader->wait_seconds(), 0);
  static_cast<void>(loader->next());
  EXPECT_GT(loader->wait_seconds(), 0);
}

TEST(Loader, WrongOptionsAreRefused) {
  const auto source = source_of(20);
  const auto refusal = [&](const LoaderOptions& options, const ImageShape& shape) -> std::string {
    try {
      const Loader loader(*source, Pipeline({}, shape, Mode::training), options);
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  };
  LoaderOptions options = small(10);
  EXPECT_EQ(refusal(options, {6, 6, 1}), "accepted");
  EXPECT_THAT(refusal(options, {6, 6, 3}),
              HasSubstr("made for images of 6x6x3, the data has images of 6x6x1"));
  options.rank = 1;
  EXPECT_THAT(refusal(options, {6, 6, 1}), HasSubstr("expected a rank of 0 to 0, found 1"));
  options = small(10);
  options.prefetch = 0;
  EXPECT_THAT(refusal(options, {6, 6, 1}), HasSubstr("prefetch from 1"));
  EXPECT_THAT(refusal(small(21), {6, 6, 1}), HasSubstr("less than one batch"));
}

}  // namespace
}  // namespace lockstep::runtime::data
