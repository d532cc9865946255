#include <cstring>

#include "engine/bfloat16.h"
#include "engine/cpu/families.h"
#include "engine/cpu/threads.h"
#include "engine/cpu/transpose.h"

namespace lockstep::engine::cpu {
namespace {

// Matrices of `rows` by `columns`.
struct Matrices {
  std::int64_t count, rows, columns;
};

Kernel transposes(const Context& context, const Binding& b, const Matrices& m) {
  return [context, m, x = b.in<float>(0), y = b.out<float>(0)] {
    for_pieces(context.threads, m.count, [&](std::int64_t i) {
      const std::int64_t at = i * m.rows * m.columns;
      if (m.rows == 1 || m.columns == 1) {
        std::memcpy(y + at, x + at, static_cast<std::size_t>(m.rows * m.columns) * sizeof(float));
      } else {
        transpose(context.isa, x + at, y + at, m.rows, m.columns);
      }
    });
  };
}

// With elements that change their type on the way, or are not floats.
template <class From, class To>
Kernel converting_transposes(const Context& context, const Binding& b, const Matrices& m) {
  return [context, m, x = b.in<From>(0), y = b.out<To>(0)] {
    for_pieces(context.threads, m.count, [&](std::int64_t i) {
      const From* from = x + i * m.rows * m.columns;
      To* to = y + i * m.rows * m.columns;
      for (std::int64_t r = 0; r < m.rows; ++r) {
        for (std::int64_t c = 0; c < m.columns; ++c) {
          store(to_float(from[r * m.columns + c]), to[c * m.rows + r]);
        }
      }
    });
  };
}

// `image`: the shape of the side that has pixels.
Kernel bind(const Context& context, const Binding& b, const Shape& image, bool to_planes) {
  const std::int64_t pixels = image[1] * image[2], channels = image[3];
  const Matrices m{image[0], to_planes ? pixels : channels, to_planes ? channels : pixels};
  const bool from_low = b.input(0).dtype == DType::bf16, to_low = b.output(0).dtype == DType::bf16;
  if (from_low && to_low) return converting_transposes<BFloat16, BFloat16>(context, b, m);
  if (from_low) return converting_transposes<BFloat16, float>(context, b, m);
  if (to_low) return converting_transposes<float, BFloat16>(context, b, m);
  return transposes(context, b, m);
}

}  // namespace

Family flatten_kernels(const Context& context) {
  auto flatten = [context](const Binding& b) { return bind(context, b, b.input(0).shape, true); };
  auto unflatten = [context](const Binding& b) {
    return bind(context, b, b.output(0).shape, false);
  };
  return {{.op = "flatten", .bind = flatten}, {.op = "unflatten", .bind = unflatten}};
}

}  // namespace lockstep::engine::cpu
