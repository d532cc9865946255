// From a source's bytes to a model's floats: the transforms of a job, in order.
//
// Random numbers are keyed by (seed, epoch, sample, place in the list), so that neither rank,
// thread nor resume change them. Evaluation leaves the random ones out; a crop that changes the
// size cuts the middle. Thread rule: all classes are immutable; a TransformScratch belongs to one
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/data/batch_plan.h"
#include "runtime/data/random.h"
#include "runtime/data/source.h"
#include "runtime/job.h"

namespace lockstep::runtime::data {

// One transform of bytes to bytes.
class LOCKSTEP_API Transform {
 public:
  virtual ~Transform() = default;
  // Size of the result. Throws DataError where the transform does not fit the input.
  [[nodiscard]] virtual ImageShape output(const ImageShape& input) const = 0;
  // Returns the result: `input` itself where nothing changes, else the image written to `space`.
  // REQUIRES: space does not hold input's bytes.
  [[nodiscard]] virtual Pixels apply(const Pixels& input, RandomStream random,
                                     std::vector<std::uint8_t>& space) const = 0;
};

// Mirrors left and right with the given probability.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Transform> make_flip(double probability);

struct CropOptions {
  std::int64_t padding = 0;          // pixels of 0 on each side, before cutting
  std::optional<std::int64_t> size;  // height and width of the result; none: the input's
};
// Cuts at a random place; all places are equally likely.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Transform> make_random_crop(const CropOptions& options);
// Cuts the middle (the upper left one of an even rest), without padding.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Transform> make_center_crop(std::int64_t size);

// Bytes to floats: (byte / 255 - mean) / std by channel, worked out as byte * scale + shift.
// Cost: one multiply-add an element, vectorised; about 0.5 ns without AVX2.
class LOCKSTEP_API Normalise {
 public:
  // `mean` and `std`: one for all channels, or one a channel; empty: 0 and 1. Throws DataError
  // where neither.
  Normalise(const std::vector<double>& mean, const std::vector<double>& std, std::int64_t channels);
  // REQUIRES: floats.size() == bytes.size(), a multiple of the channels.
  void apply(std::span<const std::uint8_t> bytes, std::span<float> floats) const;

 private:
  std::vector<float> scale_;  // a channel
  std::vector<float> shift_;
};

// Which sample, for its random numbers.
struct SampleKey {
  std::uint64_t seed = 1;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;  // its index in the data set
};

// Buffers that Pipeline::run reuses.
struct TransformScratch {
  std::array<std::vector<std::uint8_t>, 2> images;
};

// Of images. Thread rule: immutable.
class LOCKSTEP_API Pipeline {
 public:
  // Throws DataError where a transform does not fit images of shape `input`.
  Pipeline(const std::vector<TransformSpec>& transforms, const ImageShape& input, Mode mode);

  [[nodiscard]] const ImageShape& input() const { return input_; }
  [[nodiscard]] const ImageShape& output() const { return output_; }

  // REQUIRES: pixels.size() == input().elements(), floats.size() == output().elements().
  void run(std::span<const std::uint8_t> pixels, const SampleKey& key, TransformScratch& scratch,
           std::span<float> floats) const;

 private:
  struct Stage {
    std::unique_ptr<Transform> transform;
    std::uint64_t place = 0;  // in the job's list; keys its random numbers
  };
  ImageShape input_;
  ImageShape output_;
  std::vector<Stage> stages_;
  Normalise normalise_;
};

// The pipeline of a data set's samples; none for windows of tokens. Throws DataError where a
// transform does not fit them.
[[nodiscard]] LOCKSTEP_API std::optional<Pipeline> make_pipeline(
    const std::vector<TransformSpec>& transforms, const SampleShape& shape, Mode mode);

}  // namespace lockstep::runtime::data
