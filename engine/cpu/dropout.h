// Dropping the elements of one sample.
#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/device/random_bits.h"

namespace lockstep::engine::cpu {

// A group of SampleRandom::kGroup elements.
struct DropGroup {
  const SampleRandom& random;
  const DropRule& rule;
  std::int64_t group;
};
// factors[i] = 0 where the element i of the group is dropped, else the rule's scale.
void drop_factors(Isa isa, const DropGroup& group, float* factors);

}  // namespace lockstep::engine::cpu
