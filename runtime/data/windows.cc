#include "runtime/data/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "runtime/data/random.h"

namespace lockstep::runtime::data {
namespace {

// An epoch's order has 32-bit indices.
constexpr std::int64_t kMostWindows = std::numeric_limits<std::uint32_t>::max();

class Windows final : public Source {
 public:
  Windows(std::unique_ptr<TokenSequence> sequence, const WindowOptions& options)
      : sequence_(std::move(sequence)), options_(options) {
    const auto place = [&](double fraction) {
      return static_cast<std::int64_t>(fraction * static_cast<double>(sequence_->size()));
    };
    begin_ = place(options.from);
    tokens_ = place(options.to) - begin_;
    const bool trains = options.split == Split::train;
    const std::int64_t least = trains ? 2 * options.context : 2;
    if (tokens_ < least) refuse(least);
    windows_ = trains ? (tokens_ - options.context) / options.context
                      : (tokens_ - 2) / options.context + 1;
    if (windows_ > kMostWindows) {
      throw DataError(
          fmt::format("{}: {} windows of {} tokens are more than an epoch can have ({}): raise "
                      "model.context, or narrow the part with from and to",
                      sequence_->origin(), windows_, options.context, kMostWindows));
    }
  }

  std::size_t size() const override { return static_cast<std::size_t>(windows_); }
  SampleShape shape() const override { return {.image = {}, .context = options_.context}; }
  std::int64_t classes() const override { return sequence_->values(); }
  std::string vocabulary() const override { return sequence_->vocabulary(); }

  void read(const SamplePlace& place, Sample& sample) const override {
    const std::int64_t context = options_.context;
    const std::int64_t start =
        shift(place.epoch) + static_cast<std::int64_t>(place.index) * context;
    const std::int64_t count = std::min(context, tokens_ - 1 - start);
    const auto labels = static_cast<std::size_t>(count);
    sample.tokens.resize(static_cast<std::size_t>(context) + 1);
    sequence_->read(begin_ + start, std::span(sample.tokens).first(labels + 1));
    sample.labels.assign(static_cast<std::size_t>(context), kNoLabel);
    std::copy_n(sample.tokens.begin() + 1, count, sample.labels.begin());
    std::fill(sample.tokens.begin() + count, sample.tokens.end(), 0);
    sample.tokens.pop_back();
  }

 private:
  std::int64_t shift(std::int64_t epoch) const {
    if (options_.split == Split::eval) return 0;
    RandomStream random(options_.seed, Purpose::window_shift, static_cast<std::uint64_t>(epoch), 0);
    return random.below(static_cast<std::uint32_t>(options_.context));
  }

  [[noreturn]] void refuse(std::int64_t least) const {
    const bool part = options_.from > 0 || options_.to < 1;
    const std::string of_part =
        part ? fmt::format(" of {} (from {} to {})", sequence_->size(), options_.from, options_.to)
             : "";
    const std::string lower =
        tokens_ >= 2 ? fmt::format(", or lower model.context to at most {}", tokens_ / 2) : "";
    throw DataError(fmt::format(
        "{}: expected at least {} tokens for {} with a context of {}, found {}{}: use more data{}",
        sequence_->origin(), least,
        options_.split == Split::train ? "training (two contexts, since windows begin at another "
                                         "token each epoch)"
                                       : "evaluation",
        options_.context, tokens_, of_part, options_.split == Split::train ? lower : ""));
  }

  std::unique_ptr<TokenSequence> sequence_;
  WindowOptions options_;
  std::int64_t begin_ = 0;   // of the range, in the sequence
  std::int64_t tokens_ = 0;  // of the range
  std::int64_t windows_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_windows(std::unique_ptr<TokenSequence> sequence,
                                     const WindowOptions& options) {
  return std::make_unique<Windows>(std::move(sequence), options);
}

}  // namespace lockstep::runtime::data
