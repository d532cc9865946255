// Loss and gradients of whole networks against torch in double precision
// (tests/engine/golden/make_golden.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/models/models.h"
#include "tests/runtime/golden_step.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

using engine::Initializer;

// As make_golden.py fills them.
void fill(const SavedTensor& tensor, std::uint64_t seed) {
  std::span<float> values(reinterpret_cast<float*>(tensor.bytes.data()),
                          tensor.bytes.size() / sizeof(float));
  const bool matrix = tensor.shape.rank() > 1;
  const double fan_in = matrix ? static_cast<double>(tensor.shape.elements() / tensor.shape[0]) : 1;
  engine::initialise(values, {Initializer::Kind::uniform, matrix ? 1.5 / std::sqrt(fan_in) : 0.1},
                     seed, tensor.name);
  const bool norm = tensor.name.find("bn") != std::string::npos ||
                    tensor.name.find("downsample.1") != std::string::npos;
  if (!matrix && norm && tensor.name.ends_with("weight")) {
    for (float& value : values) value += 1.0f;
  }
}

void expect_torchs_step(const std::string& name, RankSetup setup) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/engine/golden/" + name + ".json");
  ASSERT_TRUE(file) << name;
  const nlohmann::json golden = nlohmann::json::parse(file);
  setup.batch = golden.at("batch");
  setup.optimizer.schedule.peak = 0;  // gradients are looked at, nothing is changed
  on_ranks(setup, 1, [&](RankContext& context) {
    const std::uint64_t seed = golden.at("seed");
    for (const SavedTensor& tensor : context.replica.tensors()) {
      if (tensor.arena == engine::Arena::parameters) fill(tensor, seed);
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

}  // namespace
}  // namespace lockstep::runtime::test
