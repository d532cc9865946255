// Cuts a window out of an image; what of the window lies outside the image is 0.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/data/transform.h"

namespace lockstep::runtime::data {
namespace {

struct Corner {
  std::int64_t top = 0;  // of the window, in the image's coordinates; negative: above the image
  std::int64_t left = 0;
};

Pixels cut(const Pixels& input, Corner corner, const ImageShape& window,
           std::vector<std::uint8_t>& space) {
  space.assign(window.elements(), 0);
  const std::int64_t first_row = std::max<std::int64_t>(0, -corner.top);
  const std::int64_t last_row = std::min(window.height, input.shape.height - corner.top);
  const std::int64_t first_column = std::max<std::int64_t>(0, -corner.left);
  const std::int64_t last_column = std::min(window.width, input.shape.width - corner.left);
  if (first_column >= last_column) return {space, window};
  const std::int64_t channels = input.shape.channels;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const auto from =
        ((corner.top + row) * input.shape.width + corner.left + first_column) * channels;
    const auto to = (row * window.width + first_column) * channels;
    std::copy_n(input.bytes.begin() + from, (last_column - first_column) * channels,
                space.begin() + to);
  }
  return {space, window};
}

class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const CropOptions& options) : options_(options) {}

  ImageShape output(const ImageShape& input) const override {
    if (!options_.size) return input;
    const std::int64_t size = *options_.size;
    if (size > input.height + 2 * options_.padding || size > input.width + 2 * options_.padding) {
      throw DataError(fmt::format("a crop of {}x{} does not fit images of {} with padding {}", size,
                                  size, input.text(), options_.padding));
    }
    return {size, size, input.channels};
  }

  Pixels apply(const Pixels& input, RandomStream random,
               std::vector<std::uint8_t>& space) const override {
    const ImageShape window = output(input.shape);
    const auto places = [&](std::int64_t extent, std::int64_t cut_out) {
      return static_cast<std::uint32_t>(extent + 2 * options_.padding - cut_out + 1);
    };
    Corner corner;
    corner.top = random.below(places(input.shape.height, window.height)) - options_.padding;
    corner.left = random.below(places(input.shape.width, window.width)) - options_.padding;
    if (window == input.shape && corner.top == 0 && corner.left == 0) return input;
    return cut(input, corner, window, space);
  }

 private:
  CropOptions options_;
};

class CenterCrop final : public Transform {
 public:
  explicit CenterCrop(std::int64_t size) : size_(size) {}

  ImageShape output(const ImageShape& input) const override {
    return {size_, size_, input.channels};
  }

  Pixels apply(const Pixels& input, RandomStream, std::vector<std::uint8_t>& space) const override {
    const ImageShape window = output(input.shape);
    if (window == input.shape) return input;
    // Halves are rounded down, also those of a window larger than the image.
    const auto start = [](std::int64_t rest) { return rest >= 0 ? rest / 2 : (rest - 1) / 2; };
    return cut(input,
               {start(input.shape.height - window.height), start(input.shape.width - window.width)},
               window, space);
  }

 private:
  std::int64_t size_;
};

}  // namespace

std::unique_ptr<Transform> make_random_crop(const CropOptions& options) {
  return std::make_unique<RandomCrop>(options);
}

std::unique_ptr<Transform> make_center_crop(std::int64_t size) {
  return std::make_unique<CenterCrop>(size);
}

}  // namespace lockstep::runtime::data
