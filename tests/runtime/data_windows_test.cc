// Windows of a sequence: every label once in evaluation, full windows that shift in training.
#include "runtime/data/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace lockstep::runtime::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Tokens = std::vector<std::int32_t>;

// Token i of the sequence is i.
class Counting final : public TokenSequence {
 public:
  explicit Counting(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::int64_t values() const override { return size_; }
  std::string origin() const override { return "counting"; }
  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    ASSERT_GE(first, 0);
    ASSERT_LE(first + static_cast<std::int64_t>(tokens.size()), size_);
    std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(first));
  }

 private:
  std::int64_t size_;
};

std::unique_ptr<Source> windows_of(std::int64_t tokens, const WindowOptions& options) {
  return make_windows(std::make_unique<Counting>(tokens), options);
}

WindowOptions evaluation(std::int64_t context, double from = 0, double to = 1) {
  return {.context = context, .from = from, .to = to, .split = Split::eval};
}

TEST(Windows, EvaluationHasEveryTokenButTheFirstAsALabelOnce) {
  Sample sample;
  for (std::int64_t context = 1; context <= 9; ++context) {
    for (std::int64_t tokens = 2; tokens <= 40; ++tokens) {
      const auto source = windows_of(tokens, evaluation(context));
      EXPECT_EQ(static_cast<std::int64_t>(source->size()), (tokens - 2) / context + 1);
      std::int32_t next = 1;
      for (std::size_t i = 0; i < source->size(); ++i) {
        source->read({i, 5}, sample);
        ASSERT_EQ(static_cast<std::int64_t>(sample.tokens.size()), context);
        ASSERT_EQ(sample.labels.size(), sample.tokens.size());
        for (std::size_t place = 0; place < sample.labels.size(); ++place) {
          if (next == tokens) {
            EXPECT_EQ(sample.labels[place], kNoLabel);
            EXPECT_EQ(sample.tokens[place], 0);
          } else {
            EXPECT_EQ(sample.labels[place], next);
            EXPECT_EQ(sample.tokens[place], next - 1);
            ++next;
          }
        }
      }
      EXPECT_EQ(next, tokens);
    }
  }
}

TEST(Windows, LastOfEvaluationIsPadded) {
  const auto source = windows_of(7, evaluation(4));
  Sample sample;
  ASSERT_EQ(source->size(), 2U);
  source->read({1}, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(4, 5, 0, 0));
  EXPECT_THAT(sample.labels, ElementsAre(5, 6, kNoLabel, kNoLabel));
  source->read({0}, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sample.labels, ElementsAre(1, 2, 3, 4));
}

TEST(Windows, OfTrainingAreFullAndLieSideBySideInEveryEpoch) {
  Sample sample;
  for (std::int64_t context = 1; context <= 9; ++context) {
    for (std::int64_t tokens = 2 * context; tokens <= 40; ++tokens) {
      const auto source = windows_of(tokens, {.context = context});
      EXPECT_EQ(static_cast<std::int64_t>(source->size()), (tokens - context) / context);
      for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
        source->read({0, epoch}, sample);
        std::int32_t next = sample.tokens[0];
        EXPECT_LT(next, context);
        for (std::size_t i = 0; i < source->size(); ++i) {
          source->read({i, epoch}, sample);
          for (std::size_t place = 0; place < sample.labels.size(); ++place) {
            EXPECT_EQ(sample.tokens[place], next++);
            EXPECT_EQ(sample.labels[place], next);
          }
        }
        EXPECT_LT(next, tokens);
      }
    }
  }
}

std::int32_t shift_of(const Source& source, std::int64_t epoch) {
  Sample sample;
  source.read({0, epoch}, sample);
  return sample.tokens[0];
}

TEST(Windows, ShiftsOfEpochsTakeEveryValueAboutAsOften) {
  const auto source = windows_of(100, {.context = 8});
  std::map<std::int32_t, int> times;
  for (std::int64_t epoch = 0; epoch < 800; ++epoch) ++times[shift_of(*source, epoch)];
  EXPECT_EQ(times.size(), 8U);
  for (const auto& [shift, count] : times) EXPECT_NEAR(count, 100, 50) << shift;
}

TEST(Windows, ShiftIsAFunctionOfSeedAndEpochAlone) {
  const auto source = windows_of(1000, {.context = 64, .seed = 3});
  const auto longer = windows_of(5000, {.context = 64, .seed = 3});
  const auto other = windows_of(1000, {.context = 64, .seed = 4});
  std::set<std::int32_t> shifts;
  int equal_to_other = 0;
  for (std::int64_t epoch = 40; epoch-- > 0;) {
    EXPECT_EQ(shift_of(*source, epoch), shift_of(*longer, epoch));
    equal_to_other += shift_of(*source, epoch) == shift_of(*other, epoch) ? 1 : 0;
    shifts.insert(shift_of(*source, epoch));
  }
  EXPECT_GT(shifts.size(), 20U);
  EXPECT_LT(equal_to_other, 10);
}

TEST(Windows, PartsOfASequenceShareNoToken) {
  Sample sample;
  for (const double cut : {0.1, 0.29, 0.5, 0.9}) {
    const auto end = static_cast<std::int32_t>(cut * 1007);
    const auto train = windows_of(1007, {.context = 3, .to = cut});
    for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
      train->read({train->size() - 1, epoch}, sample);
      EXPECT_LT(sample.labels.back(), end);
    }
    const auto eval = windows_of(1007, evaluation(3, cut));
    eval->read({0}, sample);
    EXPECT_EQ(sample.tokens[0], end);
    std::int32_t last = 0;
    eval->read({eval->size() - 1}, sample);
    for (const std::int32_t label : sample.labels) last = std::max(last, label);
    EXPECT_EQ(last, 1006);
  }
}

TEST(Windows, ShapeAndClassesAreTheSequences) {
  const auto source = windows_of(50, {.context = 4});
  EXPECT_EQ(source->shape(), (SampleShape{.image = {}, .context = 4}));
  EXPECT_EQ(source->shape().labels(), 4);
  EXPECT_EQ(source->shape().text(), "windows of 4 tokens");
  EXPECT_EQ(source->classes(), 50);
  EXPECT_EQ(source->vocabulary(), "");
}

std::string refusal(std::int64_t tokens, const WindowOptions& options) {
  try {
    static_cast<void>(windows_of(tokens, options));
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Windows, TooFewTokensSayWhatToDo) {
  EXPECT_EQ(
      refusal(127, {.context = 64}),
      "counting: expected at least 128 tokens for training (two contexts, since windows begin "
      "at another token each epoch) with a context of 64, found 127: use more data, or lower "
      "model.context to at most 63");
  EXPECT_EQ(refusal(128, {.context = 64}), "accepted");
  EXPECT_THAT(refusal(100, {.context = 64, .from = 0.5, .to = 0.75}),
              HasSubstr("found 25 of 100 (from 0.5 to 0.75): use more data, or lower"));
  EXPECT_EQ(
      refusal(1, evaluation(64)),
      "counting: expected at least 2 tokens for evaluation with a context of 64, found 1: use "
      "more data");
  EXPECT_EQ(refusal(2, evaluation(64)), "accepted");
}

TEST(Windows, MoreThanAnEpochCanHaveAreRefused) {
  constexpr std::int64_t kMany = std::int64_t{1} << 32;
  EXPECT_EQ(refusal(kMany, {.context = 1}), "accepted");
  EXPECT_THAT(refusal(kMany + 1, {.context = 1}), HasSubstr("raise model.context"));
}

}  // namespace
}  // namespace lockstep::runtime::data
