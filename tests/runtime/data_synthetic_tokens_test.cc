// Made-up windows of tokens: the same each time, and such that they can be learned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

Sample window_of(const Source& source, std::size_t index, std::int64_t epoch = 0) {
  Sample sample;
  source.read({index, epoch}, sample);
  return sample;
}

TEST(SyntheticTokens, WindowsAreAFunctionOfSeedSplitAndIndex) {
  const SyntheticTokenOptions options{300, 20, 50, 5, Split::train};
  const auto source = make_synthetic_tokens(options);
  auto other_seed = options;
  other_seed.seed = 6;
  auto other_split = options;
  other_split.split = Split::eval;
  EXPECT_EQ(source->size(), 300U);
  EXPECT_EQ(source->classes(), 50);
  EXPECT_EQ(source->shape().context, 20);
  const std::vector<std::int32_t> tokens = window_of(*source, 123).tokens;
  EXPECT_EQ(window_of(*make_synthetic_tokens(options), 123, 7).tokens, tokens);
  EXPECT_NE(window_of(*source, 124).tokens, tokens);
  EXPECT_NE(window_of(*make_synthetic_tokens(other_seed), 123).tokens, tokens);
  EXPECT_NE(window_of(*make_synthetic_tokens(other_split), 123).tokens, tokens);
}

TEST(SyntheticTokens, LabelsAreTheTokensThatFollow) {
  const auto source = make_synthetic_tokens({20, 30, 17, 1, Split::train});
  for (std::size_t i = 0; i < source->size(); ++i) {
    const Sample sample = window_of(*source, i);
    ASSERT_EQ(sample.tokens.size(), 30U);
    ASSERT_EQ(sample.labels.size(), 30U);
    EXPECT_TRUE(std::equal(sample.tokens.begin() + 1, sample.tokens.end(), sample.labels.begin()));
    EXPECT_GE(std::ranges::min(sample.tokens), 0);
    EXPECT_LT(std::max(std::ranges::max(sample.tokens), sample.labels.back()), 17);
  }
}

// Which token follows most often in the training set is right for seven of eight of the other set.
TEST(SyntheticTokens, CanBeLearned) {
  const auto train = make_synthetic_tokens({2000, 32, 40, 1, Split::train});
  const auto eval = make_synthetic_tokens({200, 32, 40, 1, Split::eval});
  std::map<std::int32_t, std::map<std::int32_t, int>> followers;
  for (std::size_t i = 0; i < train->size(); ++i) {
    const Sample sample = window_of(*train, i);
    for (std::size_t t = 0; t < 32; ++t) ++followers[sample.tokens[t]][sample.labels[t]];
  }
  int right = 0;
  for (std::size_t i = 0; i < eval->size(); ++i) {
    const Sample sample = window_of(*eval, i);
    for (std::size_t t = 0; t < 32; ++t) {
      const auto& counts = followers[sample.tokens[t]];
      const auto most =
          std::ranges::max_element(counts, {}, [](auto& pair) { return pair.second; });
      right += most != counts.end() && most->first == sample.labels[t] ? 1 : 0;
    }
  }
  const double share = right / (200.0 * 32.0);
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 0.91);
}

TEST(SyntheticTokens, NothingToMakeIsAnError) {
  for (const SyntheticTokenOptions& options :
       {SyntheticTokenOptions{0, 8, 10}, {1, 0, 10}, {1, 8, 0}, {1, 8, std::int64_t{1} << 31}}) {
    EXPECT_THROW(static_cast<void>(make_synthetic_tokens(options)), DataError);
  }
}

TEST(OpenSource, SyntheticTokensAreTheModels) {
  Job job;
  job.data.train.samples = 20;
  const auto source = open_source(job, Split::train, {.context = 12, .vocabulary = 99});
  EXPECT_EQ(source->shape(), (SampleShape{.image = {}, .context = 12}));
  EXPECT_EQ(source->classes(), 99);
}

}  // namespace
}  // namespace lockstep::runtime::data
