// Random numbers as counters: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). A number depends on the job's seed, the step, the layer that draws it, the
// sample's row in the step's global batch and the element within the sample: so neither ranks,
// threads, micro-steps nor a resume change it.
#pragma once

#include <array>
#include <cstdint>

#include "engine/device/step_state.h"

namespace lockstep::engine {

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxFactor0 = 0xD2511F53U, kPhiloxFactor1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxKey0 = 0x9E3779B9U, kPhiloxKey1 = 0xBB67AE85U;

// Four words of a counter's block.
[[gnu::always_inline]] inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                                                  std::uint32_t key0,
                                                                  std::uint32_t key1) {
#pragma GCC unroll 10
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxFactor0} * c[0];
    const std::uint64_t b = std::uint64_t{kPhiloxFactor1} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += kPhiloxKey0;
    key1 += kPhiloxKey1;
  }
  return c;
}

// The numbers of one sample at one step in one layer. Elements are numbered in groups of 64: the
// element e of group g has word e / 16 of block 16 * g + e % 16, so that a vector of blocks gives
// whole vectors of words. REQUIRES: less than 2^28 groups, a stream of less than 2^32.
struct SampleRandom {
  std::uint32_t key0 = 0, key1 = 0;
  std::uint32_t row = 0, step = 0, stream = 0;

  static constexpr std::int64_t kGroup = 64;

  SampleRandom() = default;
  SampleRandom(const StepState& state, std::int64_t layer, std::int32_t sample_row)
      : key0(static_cast<std::uint32_t>(state.seed)),
        key1(static_cast<std::uint32_t>(state.seed >> 32)),
        row(static_cast<std::uint32_t>(sample_row)),
        step(static_cast<std::uint32_t>(state.step)),
        stream(static_cast<std::uint32_t>(layer)) {}

  // Block `lane` of a group: the words of its elements lane, lane + 16, lane + 32, lane + 48.
  [[nodiscard, gnu::always_inline]] std::array<std::uint32_t, 4> block(std::uint32_t group,
                                                                       std::uint32_t lane) const {
    return philox({group * 16U + lane, row, step, stream}, key0, key1);
  }

  [[nodiscard]] std::uint32_t word(std::int64_t element) const {
    const auto in_group = static_cast<std::uint32_t>(element % kGroup);
    return block(static_cast<std::uint32_t>(element / kGroup), in_group % 16U)[in_group / 16U];
  }
};

// Which elements a dropout of `probability` drops, and by what the others are multiplied.
struct DropRule {
  std::uint32_t threshold = 0;  // words below it are dropped
  float scale = 1;

  DropRule() = default;
  // REQUIRES: 0 <= probability < 1.
  explicit DropRule(double probability)
      : threshold(static_cast<std::uint32_t>(probability * 4294967296.0)),
        scale(static_cast<float>(1.0 / (1.0 - probability))) {}
};

}  // namespace lockstep::engine
