// Where samples come from: images of one size with a class label each.
//
// Thread rule: a Source does not change after it was made; all members may be called from any
// thread at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/job.h"

namespace lockstep::runtime::data {

// Data that cannot be used. The message names file, byte offset or record, what was expected and
// found.
class LOCKSTEP_API DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LOCKSTEP_API ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  // Values of one image, which is also its bytes as u8.
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(channels);
  }
  // "28x28x1"
  [[nodiscard]] std::string text() const;

  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// An image's bytes, rows top to bottom, channels innermost (HWC). It does not own them.
struct Pixels {
  std::span<const std::uint8_t> bytes;
  ImageShape shape;
};

// One sample as a source hands it out. Reuse one object for many reads: its buffer is kept.
struct Sample {
  std::span<const std::uint8_t>
      pixels;  // in the source's memory or in `buffer`; valid until the next read
  std::int32_t label = 0;
  std::vector<std::uint8_t> buffer;
};

class LOCKSTEP_API Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual ImageShape shape() const = 0;
  [[nodiscard]] virtual std::int64_t classes() const = 0;

  // REQUIRES: index < size(). Throws DataError where the sample is damaged.
  virtual void read(std::size_t index, Sample& sample) const = 0;
};

// MNIST's format: images [N,H,W] or [N,H,W,C] and labels [N] of unsigned bytes, plain or gzip (told
// by content). Both files are read to memory and checked whole. Throws DataError.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> open_idx(const std::filesystem::path& images,
                                                            const std::filesystem::path& labels,
                                                            std::int64_t classes);

enum class Split : std::uint8_t { train, eval };

// Samples made of numbers: a pattern of their class, shifted, under noise, so that a model can
// learn them. A sample is a function of (seed, split, index); the patterns are the same for both
// splits.
struct SyntheticOptions {
  std::size_t samples = 0;
  ImageShape shape;
  std::int64_t classes = 10;
  std::uint64_t seed = 1;
  Split split = Split::train;
};
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> make_synthetic(const SyntheticOptions& options);

// The source that a job's data.train or data.eval names. Synthetic images have the size that the
// model is known for: 224x224x3 for resnet with the ImageNet stem, 32x32x3 with the small one,
// 28x28x1 otherwise. Throws DataError.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> open_source(const Job& job, Split split);

}  // namespace lockstep::runtime::data
