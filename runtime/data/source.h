// Where samples come from: images of one size with a class label each, or windows of a sequence of
// tokens, in which every token's label is the token that follows it.
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

// What each sample of a source is.
struct LOCKSTEP_API SampleShape {
  ImageShape image;          // empty for a window
  std::int64_t context = 0;  // tokens of a window; 0: an image

  [[nodiscard]] bool is_window() const { return context > 0; }
  // Labels of one sample: what it weighs in a loss.
  [[nodiscard]] std::int64_t labels() const { return is_window() ? context : 1; }
  // "images of 28x28x1", "windows of 64 tokens"
  [[nodiscard]] std::string text() const;

  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

// An image's bytes, rows top to bottom, channels innermost (HWC). It does not own them.
struct Pixels {
  std::span<const std::uint8_t> bytes;
  ImageShape shape;
};

// The label of a place in a window that has none: behind the end of the data.
inline constexpr std::int32_t kNoLabel = -1;

// Which sample, and for what: training windows begin elsewhere each epoch.
struct SamplePlace {
  std::size_t index = 0;
  std::int64_t epoch = 0;
};

// One sample as a source hands it out. Reuse one object for many reads: its memory is kept.
struct Sample {
  // An image: in the source's memory or in `buffer`, valid until the next read.
  std::span<const std::uint8_t> pixels;
  std::int32_t label = 0;
  std::vector<std::uint8_t> buffer;
  // A window: [context] each. Behind the end of the data tokens are 0 and labels kNoLabel.
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
};

class LOCKSTEP_API Source {
 public:
  virtual ~Source() = default;

  // Samples an epoch.
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual SampleShape shape() const = 0;
  // Labels are below it; of windows, tokens too.
  [[nodiscard]] virtual std::int64_t classes() const = 0;
  // What each token stands for where the data itself decides that (text as characters): a JSON
  // array of strings in the order of the token values. Empty otherwise.
  [[nodiscard]] virtual std::string vocabulary() const { return {}; }

  // REQUIRES: place.index < size(), place.epoch < 2^28. Throws DataError where the sample is
  // damaged.
  virtual void read(const SamplePlace& place, Sample& sample) const = 0;
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

// Windows of a sequence that can be learned: a token is a fixed function of the one before it, or,
// one time in eight, any. A window is a function of (seed, split, index); the rule is the same for
// both splits. Cost: about 20 ns a token read.
struct SyntheticTokenOptions {
  std::size_t samples = 0;
  std::int64_t context = 0;
  std::int64_t vocabulary = 0;  // below 2^31
  std::uint64_t seed = 1;
  Split split = Split::train;
};
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> make_synthetic_tokens(
    const SyntheticTokenOptions& options);

// What a model asks of its data.
struct SourceNeeds {
  std::int64_t context = 0;     // tokens of a window; 0: the model takes images
  std::int64_t vocabulary = 0;  // tokens must be below it; 0: the data's own
};

// The source that a job's data.train or data.eval names. Synthetic images have the size that the
// model is known for: 224x224x3 for resnet with the ImageNet stem, 32x32x3 with the small one,
// 28x28x1 otherwise. Throws DataError, also where the data is not of the kind that the model needs,
// or a token is not below its vocabulary.
[[nodiscard]] LOCKSTEP_API std::unique_ptr<Source> open_source(const Job& job, Split split,
                                                               const SourceNeeds& needs = {});

}  // namespace lockstep::runtime::data
