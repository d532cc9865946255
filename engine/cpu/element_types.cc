#include "engine/cpu/element_types.h"

#include "engine/cpu/multiversion.h"

namespace lockstep::engine::cpu {

LOCKSTEP_MULTIVERSION void widen(const BFloat16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

LOCKSTEP_MULTIVERSION void narrow(const float* from, BFloat16* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_bfloat16(from[i]);
}

}  // namespace lockstep::engine::cpu
