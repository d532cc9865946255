// Loss and gradients of whole networks against torch in double precision
// (tests/engine/golden/make_golden.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/models/models.h"
#include "tests/runtime/golden_step.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

using engine::Initializer;

// Calm: away from the kinks of a deep network's relus, which no two ways of rounding pass alike.
enum class FirstValues { plain, calm };

// As make_golden.py fills them.
void fill(const SavedTensor& tensor, std::uint64_t seed, FirstValues first) {
  std::span<float> values(reinterpret_cast<float*>(tensor.bytes.data()),
                          tensor.bytes.size() / sizeof(float));
  const bool matrix = tensor.shape.rank() > 1;
  const double fan_in = matrix ? static_cast<double>(tensor.shape.elements() / tensor.shape[0]) : 1;
  engine::initialise(values, {Initializer::Kind::uniform, matrix ? 1.5 / std::sqrt(fan_in) : 0.1},
                     seed, tensor.name);
  const bool norm = tensor.name.find("bn") != std::string::npos ||
                    tensor.name.find("downsample.1") != std::string::npos;
  if (matrix || !norm) return;
  const bool calm = first == FirstValues::calm;
  const bool last = tensor.name.find("bn3") != std::string::npos;
  if (tensor.name.ends_with("weight")) {
    for (float& value : values) value += calm && last ? 0.25f : 1.0f;
  } else if (calm) {
    const bool shortcut = tensor.name.find("downsample") != std::string::npos;
    float shift = last || shortcut ? 0.5f : 1.5f;
    for (float& value : values) value += shift, shift = -shift;
  }
}

void expect_torchs_step(const std::string& name, RankSetup setup,
                        FirstValues first = FirstValues::plain) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/engine/golden/" + name + ".json");
  ASSERT_TRUE(file) << name;
  const nlohmann::json golden = nlohmann::json::parse(file);
  setup.batch = golden.at("batch");
  setup.optimizer.schedule.peak = 0;  // gradients are looked at, nothing is changed
  on_ranks(setup, 1, [&](RankContext& context) {
    const std::uint64_t seed = golden.at("seed");
    for (const SavedTensor& tensor : context.replica.tensors()) {
      if (tensor.arena == engine::Arena::parameters) fill(tensor, seed, first);
    }
    context.replica.refresh();
    data::Batch batch = share_of(setup, context, 0, 0);
    engine::initialise(batch.images, {Initializer::Kind::uniform, 1}, seed, "images");
    for (std::size_t i = 0; i < batch.labels.size(); ++i)
      batch.labels[i] = static_cast<int>(i % 10);
    context.replica.run_micro_step(batch);

    expect_golden_step(context.replica, golden);
  });
}

TEST(Golden, LeNetsStepIsTorchs) {
  expect_torchs_step("lenet", {.model = engine::models::lenet(10)});
}

TEST(Golden, ResNet8sStepIsTorchs) {
  expect_torchs_step("resnet8",
                     {.model = engine::models::small_resnet({.depth = 8}), .sample = {32, 32, 3}});
}

TEST(Golden, ResNet50sStepIsTorchs) {
  expect_torchs_step("resnet50",
                     {.model = engine::models::imagenet_resnet({.depth = 50, .classes = 10}),
                      .sample = {64, 64, 3}},
                     FirstValues::calm);
}

// resnet50_state.json: names and shapes of torchvision's state dict, but for the batch counts.
TEST(Golden, ResNet50sStateHasTorchvisionsNamesAndShapes) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/engine/golden/resnet50_state.json");
  ASSERT_TRUE(file);
  std::map<std::string, std::vector<std::int64_t>> torchvisions = nlohmann::json::parse(file);
  ASSERT_EQ(torchvisions.size(), 161U + 106U);
  const engine::CompiledJob job = compile_for(
      {.model = engine::models::imagenet_resnet({}), .sample = {64, 64, 3}, .batch = 1}, 1);
  std::map<std::string, std::vector<std::int64_t>> ours;
  for (const auto& named : job.placement.saved()) {
    if (named.arena != engine::Arena::parameters && named.arena != engine::Arena::buffers) continue;
    ours[named.name] = named.shape.extents();
  }
  EXPECT_EQ(ours, torchvisions);
}

}  // namespace
}  // namespace lockstep::runtime::test
