#include "engine/cpu/convert.h"

#include <cstring>

#include "engine/cpu/element_types.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
void convert(int threads, const StoredArray& from, const StoredArray& to, std::int64_t count) {
  for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    if (from.type == to.type) {
      const auto size = static_cast<std::int64_t>(size_of(from.type));
      std::memcpy(to.data + begin * size, from.data + begin * size,
                  static_cast<std::size_t>((end - begin) * size));
    } else if (from.type == DType::bf16) {
      widen(reinterpret_cast<const BFloat16*>(from.data) + begin,
            reinterpret_cast<float*>(to.data) + begin, end - begin);
    } else {
      narrow(reinterpret_cast<const float*>(from.data) + begin,
             reinterpret_cast<BFloat16*>(to.data) + begin, end - begin);
    }
  });
}

}  // namespace lockstep::engine::cpu
