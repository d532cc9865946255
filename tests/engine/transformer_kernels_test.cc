// What the conformance of a transformer's ops does not show: where random numbers come from, what a
// NaN and an unknown token do.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/cpu/kernels.h"
#include "engine/device/random_bits.h"
#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using cpu::Isa;
using reference::Tensor;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(Random, BlocksAreThoseOfPhilox4x32With10Rounds) {
  // The published vectors (Random123, kat_vectors).
  using Words = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, kOnes, kOnes),
            (Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, 0xA4093822, 0x299F31D0),
            (Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

struct Drop {
  std::vector<double> rows;
  std::int64_t stream = 1;
  StepState state = {.step = 4, .seed = 11};
};

constexpr std::int64_t kElements = 4000;

// What is left of ones: kElements of each sample.
std::vector<double> dropped(const Drop& drop) {
  const auto samples = static_cast<std::int64_t>(drop.rows.size());
  return run_node({.name = "drop",
                   .op = "dropout",
                   .attributes = {{"probability", 0.25}, {"stream", drop.stream}},
                   .inputs = {{ones_like(Tensor({samples, kElements}))},
                              {tensor_of({samples}, drop.rows), DType::i32},
                              state_operand(drop.state)}},
                  cpu::kernels(1))
      .tensors[0]
      .values;
}

TEST(Dropout, DropsAboutTheShareAskedForAndKeepsTheMean) {
  const std::vector<double> ones = dropped({.rows = {3}});
  double sum = 0;
  for (double v : ones) sum += v;
  EXPECT_NEAR(sum / kElements, 1, 0.05);  // five standard deviations and more
  for (double v : ones) EXPECT_TRUE(v == 0 || std::abs(v - 1 / 0.75) < 1e-6);
}

TEST(Dropout, DependsOnTheSamplesRowInTheGlobalBatchAndNotOnItsPlaceHere) {
  const std::vector<double> both = dropped({.rows = {3, 8}});
  const std::vector<double> first(both.begin(), both.begin() + kElements);
  const std::vector<double> second(both.begin() + kElements, both.end());
  EXPECT_EQ(dropped({.rows = {3}}), first);
  EXPECT_EQ(dropped({.rows = {8}}), second);
  EXPECT_NE(first, second);
}

TEST(Dropout, DiffersFromStepToStepFromLayerToLayerAndFromSeedToSeed) {
  const std::vector<double> base = dropped({.rows = {3}});
  EXPECT_NE(dropped({.rows = {3}, .stream = 2}), base);
  EXPECT_NE(dropped({.rows = {3}, .state = {.step = 5, .seed = 11}}), base);
  EXPECT_NE(dropped({.rows = {3}, .state = {.step = 4, .seed = 12}}), base);
}

TEST(Embedding, TokensOutsideTheVocabularyHaveNoGradient) {
  const Outputs table = run_node({.name = "embedding",
                                  .op = "embedding_backward_tokens",
                                  .attributes = {{"vocabulary", std::int64_t{2}}},
                                  .inputs = {{tensor_of({1, 4}, {2, 1, -1, 1}), DType::i32},
                                             {tensor_of({4, 1}, {kNotANumber, 3, kNotANumber, 4})},
                                             {}}},
                                 cpu::kernels(1));
  EXPECT_EQ(table.tensors[0].values, (std::vector<double>{0, 7}));
}

// Rows before it that are worked on with the first that sees it may be NaN too; others may not.
TEST(Attention, NanReachesAllRowsThatSeeItAndNoOtherBlocks) {
  for (Isa isa : isas()) {
    for (std::int64_t column : {1, 2}) {
      Tensor qkv = random_tensor({70, 3}, 5);
      qkv.at(66, column) = kNotANumber;
      const Outputs out = run_node({.name = "attention",
                                    .op = "attention",
                                    .attributes = {{"heads", std::int64_t{1}},
                                                   {"context", std::int64_t{70}},
                                                   {"dropout", 0.0},
                                                   {"stream", std::int64_t{0}}},
                                    .inputs = {{qkv}, {}, {}}},
                                   cpu::kernels(1, isa));
      for (std::int64_t row = 0; row < 70; ++row) {
        if (row < 64 || row >= 66) {
          EXPECT_EQ(std::isnan(out.tensors[0][row]), row >= 66) << "row " << row;
        }
      }
    }
  }
}

TEST(Gelu, PassesNanAndGoesToTheEndsOfTheRange) {
  for (const char* approximation : {"tanh", "none"}) {
    const Outputs y = run_node({.name = "gelu",
                                .op = "gelu",
                                .attributes = {{"approximation", std::string(approximation)}},
                                .inputs = {{tensor_of({5}, {kNotANumber, -1e4, -20, 20, 1e4})}}},
                               cpu::kernels(1));
    EXPECT_TRUE(std::isnan(y.tensors[0][0]));
    EXPECT_NEAR(y.tensors[0][1], 0, 1e-6);
    EXPECT_NEAR(y.tensors[0][2], 0, 1e-6);
    EXPECT_EQ(y.tensors[0][3], 20);
    EXPECT_EQ(y.tensors[0][4], 1e4);
  }
}

}  // namespace
}  // namespace lockstep::engine::test
