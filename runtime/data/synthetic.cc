// Samples made of numbers: what a loader or a model can be run on where there is no data.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/random.h"
#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

// Images are made once, up to these limits; sample i is image i modulo their number, so that a
// read costs nothing.
constexpr std::size_t kPoolImages = 4096;
constexpr std::size_t kPoolBytes = std::size_t{16} << 20;

constexpr std::int64_t kGrid = 4;      // a class's pattern: this many fields down and across
constexpr std::int64_t kMaxShift = 2;  // pixels that a sample's pattern is moved, each way
constexpr std::uint32_t kNoise = 96;   // values of a sample's noise: 0 to 95
constexpr std::uint32_t kPatternValues = 256 - kNoise + 1;

class Synthetic final : public Source {
 public:
  explicit Synthetic(const SyntheticOptions& options) : options_(options) {
    const std::size_t bytes = options.shape.elements();
    const std::size_t most = std::max<std::size_t>(
        1, std::min(kPoolImages, kPoolBytes / std::max<std::size_t>(1, bytes)));
    images_ = std::min(options.samples, most);
    pool_.resize(images_ * bytes);
    for (std::size_t image = 0; image < images_; ++image) draw(image);
  }

  std::size_t size() const override { return options_.samples; }
  SampleShape shape() const override { return {.image = options_.shape}; }
  std::int64_t classes() const override { return options_.classes; }

  void read(const SamplePlace& place, Sample& sample) const override {
    const std::size_t image = place.index % images_;
    const std::size_t bytes = options_.shape.elements();
    sample.pixels = std::span(pool_).subspan(image * bytes, bytes);
    sample.label = label_of(image);
  }

 private:
  std::int32_t label_of(std::size_t image) const {
    return static_cast<std::int32_t>(image % static_cast<std::size_t>(options_.classes));
  }

  std::vector<std::uint8_t> pattern_of(std::int32_t label) const {
    RandomStream random(options_.seed, Purpose::synthetic_pattern, 0,
                        static_cast<std::uint64_t>(label));
    std::vector<std::uint8_t> fields(
        static_cast<std::size_t>(kGrid * kGrid * options_.shape.channels));
    for (auto& field : fields) field = static_cast<std::uint8_t>(random.below(kPatternValues));
    return fields;
  }

  void draw(std::size_t image) {
    const ImageShape& shape = options_.shape;
    const std::vector<std::uint8_t> fields = pattern_of(label_of(image));
    RandomStream random(options_.seed, Purpose::synthetic_sample,
                        static_cast<std::uint64_t>(options_.split), image);
    const auto shift = [&] { return std::int64_t{random.below(2 * kMaxShift + 1)} - kMaxShift; };
    const std::int64_t down = shift();
    const std::int64_t across = shift();
    const auto field_of = [](std::int64_t place, std::int64_t extent) {
      return std::clamp<std::int64_t>(place * kGrid / extent, 0, kGrid - 1);
    };
    auto to = pool_.begin() + static_cast<std::ptrdiff_t>(image * shape.elements());
    for (std::int64_t row = 0; row < shape.height; ++row) {
      for (std::int64_t column = 0; column < shape.width; ++column) {
        const std::int64_t field =
            field_of(row + down, shape.height) * kGrid + field_of(column + across, shape.width);
        for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
          const auto value = fields[static_cast<std::size_t>(field * shape.channels + channel)];
          *to++ = static_cast<std::uint8_t>(value + random.below(kNoise));
        }
      }
    }
  }

  SyntheticOptions options_;
  std::size_t images_ = 0;
  std::vector<std::uint8_t> pool_;
};

}  // namespace

std::unique_ptr<Source> make_synthetic(const SyntheticOptions& options) {
  const ImageShape& shape = options.shape;
  if (options.samples < 1 || options.classes < 1 || shape.height < 1 || shape.width < 1 ||
      shape.channels < 1) {
    throw DataError(
        fmt::format("synthetic data: expected at least one sample, class and pixel, "
                    "found {} samples of {} in {} classes",
                    options.samples, shape.text(), options.classes));
  }
  return std::make_unique<Synthetic>(options);
}

}  // namespace lockstep::runtime::data
