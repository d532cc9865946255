// One worker's share of one micro-step, and how samples are written into it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/source.h"
#include "runtime/data/transform.h"

namespace lockstep::runtime::data {

// All arrays have `capacity` rows, of which the first `count` are samples and the rest padding:
// images and tokens 0, labels 0 (of windows kNoLabel), weight 0, row and sample -1. `labels` has 1
// entry a row for images and `context` for windows. Of `images` and `tokens` one is empty.
struct Batch {
  std::vector<float> images;          // [capacity, height, width, channels]
  std::vector<std::int32_t> tokens;   // [capacity, context]
  std::vector<std::int32_t> labels;   // [capacity] or [capacity, context]
  std::vector<float> weights;         // [capacity]: 1 for a sample, 0 for padding
  std::vector<std::int64_t> rows;     // [capacity]: index in the step's global batch
  std::vector<std::int64_t> samples;  // [capacity]: index in the data set
  std::int64_t capacity = 0;
  std::int64_t count = 0;
  // Labels of the whole step's samples, over all workers and micro-steps: of training, where every
  // sample has all of its labels, the weight of the step's loss.
  std::int64_t global_weight = 0;
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // in the epoch
  std::int64_t micro = 0;
  bool last_of_step = false;   // the step's last micro-step
  bool last_of_epoch = false;  // the epoch's last step's last micro-step
};

// Writes a source's samples into batches. Thread rule: immutable; a Scratch belongs to one thread.
class BatchFiller {
 public:
  struct Scratch {
    Sample sample;
    TransformScratch transforms;
  };

  // REQUIRES: the source outlives the filler. Throws DataError where images have no pipeline,
  // windows have one, or it was made for images of another shape.
  BatchFiller(const Source& source, std::optional<Pipeline> pipeline, std::uint64_t seed);

  // Of one sample in a batch.
  [[nodiscard]] const SampleShape& shape() const { return shape_; }
  [[nodiscard]] Batch make_batch(std::int64_t capacity) const;
  // Reads sample `sample` of epoch `batch.epoch` into row `row`; the row's index in the global
  // batch is left to the caller.
  void fill_row(std::int64_t row, std::int64_t sample, Batch& batch, Scratch& scratch) const;
  // Makes padding of the rows from `batch.count` on.
  void pad(Batch& batch) const;

 private:
  const Source& source_;
  std::optional<Pipeline> pipeline_;
  std::uint64_t seed_;
  SampleShape shape_;
};

}  // namespace lockstep::runtime::data
