#include "runtime/data/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace lockstep::runtime::data {
namespace {

SampleShape shape_in_batch(const SampleShape& source, const std::optional<Pipeline>& pipeline) {
  if (!pipeline && source.is_window()) return source;
  if (!pipeline) {
    throw DataError(fmt::format("the data has {}: expected the transforms that make floats of them",
                                source.text()));
  }
  const SampleShape taken{.image = pipeline->input()};
  if (taken == source) return {.image = pipeline->output()};
  throw DataError(
      fmt::format("the transforms were made for {}, the data has {}", taken.text(), source.text()));
}

// The part of a batch's array that belongs to a row.
template <typename T>
std::span<T> row_of(std::vector<T>& values, std::size_t row, std::size_t each) {
  return std::span(values).subspan(row * each, each);
}

template <typename T>
void fill_from(std::vector<T>& values, std::int64_t begin, T padding) {
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end(), padding);
}

}  // namespace

BatchFiller::BatchFiller(const Source& source, std::optional<Pipeline> pipeline, std::uint64_t seed)
    : source_(source),
      pipeline_(std::move(pipeline)),
      seed_(seed),
      shape_(shape_in_batch(source.shape(), pipeline_)) {}

Batch BatchFiller::make_batch(std::int64_t capacity) const {
  const auto rows = static_cast<std::size_t>(capacity);
  Batch batch;
  batch.capacity = capacity;
  batch.images.resize(rows * shape_.image.elements());
  batch.tokens.resize(rows * static_cast<std::size_t>(shape_.context));
  batch.labels.resize(rows * static_cast<std::size_t>(shape_.labels()));
  batch.weights.resize(rows);
  batch.rows.resize(rows);
  batch.samples.resize(rows);
  return batch;
}

void BatchFiller::fill_row(std::int64_t row, std::int64_t sample, Batch& batch,
                           Scratch& scratch) const {
  const auto at = static_cast<std::size_t>(row);
  source_.read({static_cast<std::size_t>(sample), batch.epoch}, scratch.sample);
  if (pipeline_) {
    const SampleKey key{seed_, static_cast<std::uint64_t>(batch.epoch),
                        static_cast<std::uint64_t>(sample)};
    pipeline_->run(scratch.sample.pixels, key, scratch.transforms,
                   row_of(batch.images, at, shape_.image.elements()));
    batch.labels[at] = scratch.sample.label;
  } else {
    const auto context = static_cast<std::size_t>(shape_.context);
    std::ranges::copy(scratch.sample.tokens, row_of(batch.tokens, at, context).begin());
    std::ranges::copy(scratch.sample.labels, row_of(batch.labels, at, context).begin());
  }
  batch.weights[at] = 1.0F;
  batch.samples[at] = sample;
}

void BatchFiller::pad(Batch& batch) const {
  fill_from(batch.images, batch.count * static_cast<std::int64_t>(shape_.image.elements()), 0.0F);
  fill_from(batch.tokens, batch.count * shape_.context, 0);
  fill_from(batch.labels, batch.count * shape_.labels(), shape_.is_window() ? kNoLabel : 0);
  fill_from(batch.weights, batch.count, 0.0F);
  fill_from(batch.rows, batch.count, std::int64_t{-1});
  fill_from(batch.samples, batch.count, std::int64_t{-1});
}

}  // namespace lockstep::runtime::data
