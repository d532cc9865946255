#include <fmt/format.h>

#include <array>
#include <map>

#include "engine/error.h"
#include "engine/models/models.h"

namespace lockstep::engine::models {
namespace {

struct Stages {
  enum class Block { basic, bottleneck } block;
  std::array<std::int64_t, 4> blocks;
};

// He et al. 2015, table 1.
const std::map<std::int64_t, Stages>& depths() {
  using enum Stages::Block;
  static const std::map<std::int64_t, Stages> all{{18, {basic, {2, 2, 2, 2}}},
                                                  {34, {basic, {3, 4, 6, 3}}},
                                                  {50, {bottleneck, {3, 4, 6, 3}}},
                                                  {101, {bottleneck, {3, 4, 23, 3}}},
                                                  {152, {bottleneck, {3, 8, 36, 3}}}};
  return all;
}

struct Layer {
  std::int64_t channels, kernel, stride;
};

// The convolution "<scope>conv<number>" and its norm "<scope>bn<number>".
ValueId normed(ModelBuilder& b, const std::string& scope, int number, ValueId x,
               const Layer& layer) {
  x = b.convolution(fmt::format("{}conv{}", scope, number), x,
                    {.channels = layer.channels,
                     .kernel = layer.kernel,
                     .stride = layer.stride,
                     .pad = layer.kernel / 2,
                     .bias = false,
                     .initial = Initializer::Kind::normal});
  return b.batch_norm(fmt::format("{}bn{}", scope, number), x);
}

// The layers of a block, of which each but the last is followed by a relu.
std::vector<Layer> layers_of(Stages::Block block, std::int64_t channels, std::int64_t stride) {
  if (block == Stages::Block::basic) return {{channels, 3, stride}, {channels, 3, 1}};
  return {{channels, 1, 1}, {channels, 3, stride}, {4 * channels, 1, 1}};
}

ValueId residual_block(ModelBuilder& b, const std::string& name, ValueId x,
                       const std::vector<Layer>& layers, std::int64_t stride) {
  const std::string scope = name + ".";
  ValueId y = x;
  int number = 1;
  for (const Layer& layer : layers) {
    if (number > 1) y = b.relu(fmt::format("{}relu{}", scope, number - 1), y);
    y = normed(b, scope, number++, y, layer);
  }
  const std::int64_t channels = layers.back().channels;
  if (stride != 1 || b.shape(x)[3] != channels) {
    x = b.convolution(scope + "downsample.0", x,
                      {.channels = channels,
                       .kernel = 1,
                       .stride = stride,
                       .bias = false,
                       .initial = Initializer::Kind::normal});
    x = b.batch_norm(scope + "downsample.1", x);
  }
  return b.relu(scope + "relu", b.add(scope + "add", y, x));
}

}  // namespace

bool is_imagenet_depth(std::int64_t depth) {
  return depths().contains(depth);
}

ModelFunction imagenet_resnet(ImagenetResnet options) {
  if (!is_imagenet_depth(options.depth)) {
    throw Error(fmt::format(
        "a ResNet with the ImageNet stem has depth 18, 34, 50, 101 or 152, not {}", options.depth));
  }
  return [options, stages = depths().at(options.depth)](ModelBuilder& b, ValueId image) {
    b.begin_block();
    ValueId x = normed(b, "", 1, image, {options.width, 7, 2});
    x = b.max_pool("maxpool", b.relu("relu", x), {.size = 3, .stride = 2, .pad = 1});
    for (std::size_t stage = 0; stage < stages.blocks.size(); ++stage) {
      for (std::int64_t block = 0; block < stages.blocks[stage]; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        b.begin_block();
        x = residual_block(b, fmt::format("layer{}.{}", stage + 1, block), x,
                           layers_of(stages.block, options.width << stage, stride), stride);
      }
    }
    b.end_blocks();
    return b.linear("fc", b.average_pool("avgpool", x), options.classes);
  };
}

}  // namespace lockstep::engine::models
