// The transforms of a job, in order.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/data/transform.h"

namespace lockstep::runtime::data {
namespace {

// A sample's index in the data set and a transform's place in the list share one counter word pair.
constexpr std::uint64_t kPlaceShift = 48;

// None where evaluation leaves the transform out.
std::unique_ptr<Transform> make_transform(const TransformSpec& spec, Mode mode) {
  if (spec.kind == TransformKind::crop) {
    if (mode == Mode::training) return make_random_crop({spec.padding, spec.size});
    return spec.size ? make_center_crop(*spec.size) : nullptr;
  }
  if (spec.kind == TransformKind::flip && mode == Mode::training) {
    return make_flip(spec.probability);
  }
  return nullptr;
}

Normalise make_normalise(const std::vector<TransformSpec>& transforms, std::int64_t channels) {
  for (const TransformSpec& spec : transforms) {
    if (spec.kind == TransformKind::normalise) return {spec.mean, spec.std, channels};
  }
  return {{}, {}, channels};
}

}  // namespace

Pipeline::Pipeline(const std::vector<TransformSpec>& transforms, const ImageShape& input, Mode mode)
    : input_(input), output_(input), normalise_(make_normalise(transforms, input.channels)) {
  for (std::size_t place = 0; place < transforms.size(); ++place) {
    auto transform = make_transform(transforms[place], mode);
    if (!transform) continue;
    output_ = transform->output(output_);
    stages_.push_back({std::move(transform), place});
  }
}

void Pipeline::run(std::span<const std::uint8_t> pixels, const SampleKey& key,
                   TransformScratch& scratch, std::span<float> floats) const {
  Pixels image{pixels, input_};
  std::size_t free = 0;
  for (const Stage& stage : stages_) {
    const RandomStream random(key.seed, Purpose::augmentation, key.epoch,
                              key.sample | stage.place << kPlaceShift);
    const Pixels result = stage.transform->apply(image, random, scratch.images[free]);
    if (result.bytes.data() != image.bytes.data()) free = 1 - free;
    image = result;
  }
  normalise_.apply(image.bytes, floats);
}

std::optional<Pipeline> make_pipeline(const std::vector<TransformSpec>& transforms,
                                      const SampleShape& shape, Mode mode) {
  if (!shape.is_window())
    return std::optional<Pipeline>(std::in_place, transforms, shape.image, mode);
  if (transforms.empty()) return std::nullopt;
  throw DataError(
      fmt::format("data.transforms: the data has {}, and transforms are for images: remove them",
                  shape.text()));
}

}  // namespace lockstep::runtime::data
