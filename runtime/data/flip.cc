// Mirrors an image left and right.
#include <algorithm>

#include "runtime/data/transform.h"

namespace lockstep::runtime::data {
namespace {

class Flip final : public Transform {
 public:
  explicit Flip(double probability) : probability_(probability) {}

  ImageShape output(const ImageShape& input) const override { return input; }

  Pixels apply(const Pixels& input, RandomStream random,
               std::vector<std::uint8_t>& space) const override {
    if (random.unit() >= probability_) return input;
    space.resize(input.bytes.size());
    const auto channels = static_cast<std::ptrdiff_t>(input.shape.channels);
    const auto row_bytes = static_cast<std::ptrdiff_t>(input.shape.width) * channels;
    auto to = space.begin();
    for (auto row = input.bytes.begin(); row != input.bytes.end(); row += row_bytes) {
      if (channels == 1) {
        to = std::reverse_copy(row, row + row_bytes, to);
      } else {
        for (auto pixel = row + row_bytes; pixel != row;) {
          pixel -= channels;
          to = std::copy(pixel, pixel + channels, to);
        }
      }
    }
    return {space, input.shape};
  }

 private:
  double probability_;
};

}  // namespace

std::unique_ptr<Transform> make_flip(double probability) {
  return std::make_unique<Flip>(probability);
}

}  // namespace lockstep::runtime::data
