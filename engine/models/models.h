// The models that come with the engine, each a function of its options.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/visibility.h"
#include "engine/model.h"

namespace lockstep::engine::models {

// Fully connected layers with relu between: fc1, fc2, ...
[[nodiscard]] LOCKSTEP_API ModelFunction mlp(std::vector<std::int64_t> hidden,
                                             std::int64_t classes);

// LeNet-5 as it is usually trained today: c1 (6, 5x5, pad 2), c2 (16, 5x5), each with relu and a
// 2x2 max pool, then f1 (120), f2 (84), f3. Images of 28x28 give 400 features at f1.
[[nodiscard]] LOCKSTEP_API ModelFunction lenet(std::int64_t classes);

// ResNet for small images (He et al. 2015, section 4.2): a 3x3 stem, three stages of (depth - 2) /
// 6 basic blocks with `width`, 2*width and 4*width channels, 1x1-convolution shortcuts where the
// shape changes. Names as torchvision's. REQUIRES: depth = 6n + 2.
struct SmallResnet {
  std::int64_t depth = 20;
  std::int64_t width = 16;
  std::int64_t classes = 10;
};
[[nodiscard]] LOCKSTEP_API ModelFunction small_resnet(SmallResnet options);

// ResNet for large images, as torchvision builds it: a 7x7 stem with stride 2 and a 3x3 max pool,
// then four stages with `width`, 2, 4 and 8 times as many channels, of basic blocks (depth 18, 34)
// or of bottlenecks with their stride in the 3x3 convolution and four times the channels at the end
// (50, 101, 152). Names, shapes and first values (Kaiming, fan out) are torchvision's. REQUIRES:
// is_imagenet_depth(depth).
struct ImagenetResnet {
  std::int64_t depth = 50;
  std::int64_t width = 64;
  std::int64_t classes = 1000;
};
[[nodiscard]] LOCKSTEP_API ModelFunction imagenet_resnet(ImagenetResnet options);
[[nodiscard]] LOCKSTEP_API bool is_imagenet_depth(std::int64_t depth);

// GPT-2 (Radford et al. 2019): learnt positions, norms before each half of a block, GELU in its tanh
// form, the head tied to the token table. Names, shapes and initial values are Hugging Face's
// GPT2LMHeadModel's ("transformer.h.0.attn.c_attn.weight", weights as (inputs, outputs)): normal
// with deviation 0.02, the projections back to the residual stream with 0.02 / sqrt(2 * layers).
// Samples are windows of at most `context` tokens. Defaults: the model of 124 million parameters.
// REQUIRES: width is a multiple of heads.
struct Gpt2 {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  std::int64_t context = 1024;
  std::int64_t vocabulary = 50257;
  double dropout = 0;  // of embeddings, attention probabilities and both halves of a block
};
[[nodiscard]] LOCKSTEP_API ModelFunction gpt2(Gpt2 options);

}  // namespace lockstep::engine::models
