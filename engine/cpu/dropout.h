// Dropping the elements of one sample.
#pragma once

#include <cstdint>

#include "engine/device/random_bits.h"

namespace lockstep::engine::cpu {

// factors[i] = 0 where the element i of `group` is dropped, else the rule's scale; a whole group.
void drop_factors(const SampleRandom& random, const DropRule& rule, std::int64_t group,
                  float* factors);

}  // namespace lockstep::engine::cpu
