// GPT-2 against Hugging Face's: a step of the model of 124 million parameters in double precision,
// and the logits of a small one from the file that Hugging Face wrote
// (tests/engine/golden/make_gpt2_golden.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/models/models.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/initial_weights.h"
#include "tests/runtime/golden_step.h"
#include "tests/runtime/replica_ranks.h"

namespace lockstep::runtime::test {
namespace {

using engine::Initializer;
using engine::models::Gpt2;

const std::string kGolden = LOCKSTEP_SOURCE_DIR "/tests/engine/golden/";

nlohmann::json golden(const std::string& name) {
  std::ifstream file(kGolden + name + ".json");
  return nlohmann::json::parse(file);
}

// As make_gpt2_golden.py fills them.
void fill(const SavedTensor& tensor, std::uint64_t seed) {
  std::span<float> values(reinterpret_cast<float*>(tensor.bytes.data()),
                          tensor.bytes.size() / sizeof(float));
  engine::initialise(values, {Initializer::Kind::uniform, tensor.shape.rank() > 1 ? 0.06 : 0.1},
                     seed, tensor.name);
  if (tensor.name.find(".ln_") != std::string::npos && tensor.name.ends_with("weight")) {
    for (float& value : values) value += 1.0f;
  }
}

// Windows of one stream of numbers, a label a token.
void fill(data::Batch& batch, std::int64_t context, std::int64_t vocabulary) {
  for (std::int64_t n = 0; n < batch.capacity; ++n) {
    for (std::int64_t t = 0; t < context; ++t) {
      const std::int64_t place = n * (context + 1) + t;
      const auto at = static_cast<std::size_t>(n * context + t);
      batch.tokens[at] = static_cast<std::int32_t>((place * 7919 + 13) % vocabulary);
      batch.labels[at] = static_cast<std::int32_t>(((place + 1) * 7919 + 13) % vocabulary);
    }
  }
}

TEST(Gpt2Golden, AStepOfTheModelOf124MillionIsHuggingFaces) {
  const nlohmann::json expected = golden("gpt2");
  const std::int64_t context = expected.at("context");
  RankSetup setup{.model = engine::models::gpt2({}), .sample = {.context = context}};
  setup.batch = expected.at("batch");
  setup.optimizer.schedule.peak = 0;  // gradients are looked at, nothing is changed
  on_ranks(setup, 1, [&](RankContext& rank) {
    for (const SavedTensor& tensor : rank.replica.tensors()) {
      if (tensor.arena == engine::Arena::parameters) fill(tensor, expected.at("seed"));
    }
    rank.replica.refresh();
    data::Batch batch = share_of(setup, rank, 0, 0);
    fill(batch, context, 50257);
    rank.replica.run_micro_step(batch);
    expect_golden_step(rank.replica, expected);
  });
}

struct SmallGpt2 {
  nlohmann::json expected = golden("gpt2_small");
  Gpt2 options{.layers = expected.at("layers"),
               .heads = expected.at("heads"),
               .width = expected.at("width"),
               .context = expected.at("context"),
               .vocabulary = expected.at("vocabulary")};
  RankSetup setup() const {
    RankSetup made{.model = engine::models::gpt2(options), .sample = {.context = options.context}};
    made.batch = expected.at("batch");
    made.evaluation = true;
    return made;
  }
};

TEST(Gpt2Weights, LogitsOfHuggingFacesFileAreHuggingFaces) {
  const SmallGpt2 small;
  const RankSetup setup = small.setup();
  on_ranks(setup, 1, [&](RankContext& rank) {
    checkpoint::PosixFileSystem files;
    load_weights(rank.replica, files, kGolden + "gpt2_small.safetensors");
    rank.replica.refresh();
    data::Batch batch = share_of(setup, rank, 0, 0);
    fill(batch, small.options.context, small.options.vocabulary);
    std::array<double, 3> totals{};
    rank.replica.evaluate(batch, totals);
    const engine::Graph& graph = rank.replica.compiled().plans.at("evaluation").graph;
    const std::span<std::byte> bytes = rank.replica.bytes("evaluation", graph.result("logits"));
    const std::span<const float> logits(reinterpret_cast<const float*>(bytes.data()),
                                        bytes.size() / sizeof(float));
    const nlohmann::json& values = small.expected.at("logits");
    ASSERT_EQ(logits.size(), values.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(logits[i]), values[i].get<double>(), 1e-4) << i;
    }
  });
}

TEST(Gpt2Weights, AFileOfAnotherModelIsRefusedWithTheDifferences) {
  SmallGpt2 small;
  small.options.layers = 3;
  small.options.width = 48;
  const RankSetup setup = small.setup();
  on_ranks(setup, 1, [&](RankContext& rank) {
    checkpoint::PosixFileSystem files;
    try {
      load_weights(rank.replica, files, kGolden + "gpt2_small.safetensors");
      FAIL() << "a file of another model was taken";
    } catch (const checkpoint::CheckpointError& error) {
      EXPECT_THAT(error.what(),
                  testing::AllOf(
                      testing::HasSubstr("gpt2_small.safetensors does not hold this model's"),
                      testing::HasSubstr("\"transformer.ln_f.weight\" is F32 [24], the model's is "
                                         "F32 [48]"),
                      testing::HasSubstr("\"transformer.h.2.mlp.c_proj.bias\" is missing"),
                      testing::HasSubstr("\n  and 20 more")));
    }
  });
}

}  // namespace
}  // namespace lockstep::runtime::test
