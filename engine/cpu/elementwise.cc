#include "engine/cpu/elementwise.h"

#include <algorithm>

#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

LOCKSTEP_MULTIVERSION void relu_range(const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = 0.0F > x[i] ? 0.0F : x[i];
}

LOCKSTEP_MULTIVERSION void relu_backward_range(const float* y, const float* dy, float* dx,
                                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

LOCKSTEP_MULTIVERSION void add_range(const float* a, const float* b, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

Kernel pairwise(const Context& context, const Binding& b,
                void (*range)(const float*, const float*, float*, std::int64_t)) {
  return [threads = context.threads, range, first = b.in<float>(0), second = b.in<float>(1),
          y = b.out<float>(0), count = b.output(0).shape.elements()] {
    for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
      range(first + begin, second + begin, y + begin, end - begin);
    });
  };
}

}  // namespace

void relu(int threads, const float* x, float* y, std::int64_t count) {
  for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    relu_range(x + begin, y + begin, end - begin);
  });
}

Family elementwise_kernels(const Context& context) {
  auto forward = [context](const Binding& b) -> Kernel {
    return [threads = context.threads, x = b.in<float>(0), y = b.out<float>(0),
            count = b.output(0).shape.elements()] { relu(threads, x, y, count); };
  };
  auto of = [context](auto range) {
    return [context, range](const Binding& b) { return pairwise(context, b, range); };
  };
  return {{.op = "relu", .bind = forward},
          {.op = "relu_backward", .bind = of(relu_backward_range)},
          {.op = "add", .bind = of(add_range)},
          {.op = "accumulate", .bind = of(add_range)}};
}

}  // namespace lockstep::engine::cpu
