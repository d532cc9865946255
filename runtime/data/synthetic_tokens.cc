// Windows of tokens made of numbers, for a language model where there is no text.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/data/random.h"
#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

constexpr std::uint32_t kSurprise = 8;  // one token in so many does not follow the rule

class SyntheticTokens final : public Source {
 public:
  explicit SyntheticTokens(const SyntheticTokenOptions& options) : options_(options) {
    RandomStream random(options.seed, Purpose::synthetic_pattern, 0, 0);
    next_.resize(static_cast<std::size_t>(options.vocabulary));
    for (std::int32_t& token : next_) token = any(random);
  }

  std::size_t size() const override { return options_.samples; }
  SampleShape shape() const override { return {.image = {}, .context = options_.context}; }
  std::int64_t classes() const override { return options_.vocabulary; }

  void read(const SamplePlace& place, Sample& sample) const override {
    RandomStream random(options_.seed, Purpose::synthetic_sample,
                        static_cast<std::uint64_t>(options_.split), place.index);
    sample.tokens.resize(static_cast<std::size_t>(options_.context));
    sample.labels.resize(sample.tokens.size());
    std::int32_t token = any(random);
    for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
      sample.tokens[i] = token;
      const bool surprise = random.below(kSurprise) == 0;
      token = surprise ? any(random) : next_[static_cast<std::size_t>(token)];
      sample.labels[i] = token;
    }
  }

 private:
  std::int32_t any(RandomStream& random) const {
    return static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(options_.vocabulary)));
  }

  SyntheticTokenOptions options_;
  std::vector<std::int32_t> next_;  // the rule
};

}  // namespace

std::unique_ptr<Source> make_synthetic_tokens(const SyntheticTokenOptions& options) {
  if (options.samples < 1 || options.context < 1 || options.vocabulary < 1 ||
      options.vocabulary > std::numeric_limits<std::int32_t>::max()) {
    throw DataError(fmt::format(
        "synthetic tokens: expected at least one window, one token in it and a "
        "vocabulary of 1 to 2^31-1, found {} windows of {} tokens of a vocabulary of {}",
        options.samples, options.context, options.vocabulary));
  }
  return std::make_unique<SyntheticTokens>(options);
}

}  // namespace lockstep::runtime::data
