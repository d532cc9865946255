// Causal attention of one head of one sample, in floats, without a matrix of all scores: queries
// and keys are worked on in blocks, at and below the diagonal only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/cpu/attention_rows.h"
#include "engine/device/random_bits.h"

namespace lockstep::engine::cpu {

struct HeadShape {
  std::int64_t context;
  std::int64_t width;
  [[nodiscard]] std::int64_t blocks() const {
    return (context + kAttentionBlock - 1) / kAttentionBlock;
  }
  [[nodiscard]] std::int64_t padded_width() const { return (width + 15) / 16 * 16; }
};

// Which probabilities of a head are dropped.
struct HeadDropout {
  SampleRandom random;
  DropRule rule;
  std::int64_t first_group;  // of the head's first query; each query has a group a block of keys
};

struct HeadForward {
  HeadRows q, k, v;
  HeadRows out;
  float* lse;  // of each query
  std::optional<HeadDropout> dropout;
};

// `dq`, `dk` and `dv` may lie where q, k and v are.
struct HeadBackward {
  HeadRows q, k, v;
  HeadRows out, dout;
  const float* lse;
  HeadRows dq, dk, dv;
  std::optional<HeadDropout> dropout;
};

// Floats of scratch that a head needs.
[[nodiscard]] std::int64_t forward_scratch(const HeadShape& shape);
[[nodiscard]] std::int64_t backward_scratch(const HeadShape& shape);

void attend(Isa isa, const HeadShape& shape, const HeadForward& head, float* scratch);
void attend_backward(Isa isa, const HeadShape& shape, const HeadBackward& head, float* scratch);

}  // namespace lockstep::engine::cpu
