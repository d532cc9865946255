#include <fmt/format.h>

#include "engine/error.h"
#include "engine/models/models.h"

namespace lockstep::engine::models {
namespace {

ValueId convolve(ModelBuilder& b, const std::string& name, ValueId x, std::int64_t channels,
                 std::int64_t kernel, std::int64_t stride) {
  return b.convolution(name, x,
                       {.channels = channels,
                        .kernel = kernel,
                        .stride = stride,
                        .pad = kernel / 2,
                        .bias = false,
                        .initial = Initializer::Kind::normal});
}

ValueId basic_block(ModelBuilder& b, const std::string& name, ValueId x, std::int64_t channels,
                    std::int64_t stride) {
  ValueId shortcut = x;
  ValueId y = convolve(b, name + ".conv1", x, channels, 3, stride);
  y = b.relu(name + ".relu1", b.batch_norm(name + ".bn1", y));
  y = convolve(b, name + ".conv2", y, channels, 3, 1);
  y = b.batch_norm(name + ".bn2", y);
  if (stride != 1 || b.shape(x)[3] != channels) {
    shortcut = convolve(b, name + ".downsample.0", x, channels, 1, stride);
    shortcut = b.batch_norm(name + ".downsample.1", shortcut);
  }
  return b.relu(name + ".relu2", b.add(name + ".add", y, shortcut));
}

}  // namespace

ModelFunction small_resnet(SmallResnet options) {
  if (options.depth < 8 || (options.depth - 2) % 6 != 0) {
    throw Error(
        fmt::format("a small ResNet has depth 6n+2 (8, 14, 20, ...), not {}", options.depth));
  }
  return [options](ModelBuilder& b, ValueId image) {
    ValueId x = convolve(b, "conv1", image, options.width, 3, 1);
    x = b.relu("relu", b.batch_norm("bn1", x));
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      for (std::int64_t block = 0; block < (options.depth - 2) / 6; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        b.begin_block();
        x = basic_block(b, fmt::format("layer{}.{}", stage + 1, block), x, options.width << stage,
                        stride);
      }
    }
    b.end_blocks();
    return b.linear("fc", b.average_pool("avgpool", x), options.classes);
  };
}

}  // namespace lockstep::engine::models
