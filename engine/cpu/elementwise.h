// Loops over plain arrays that several families use.
#pragma once

#include <cstdint>

namespace lockstep::engine::cpu {

// y = x where x is not less than 0, else 0; NaN stays NaN. `y` may be `x`.
void relu(int threads, const float* x, float* y, std::int64_t count);

}  // namespace lockstep::engine::cpu
