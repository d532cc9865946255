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

LOCKSTEP_MULTIVERSION void column_block_sums(const float* x, std::int64_t rows, std::int64_t stride,
                                             std::int64_t columns, float* sums) {
  constexpr std::int64_t kBlock = 16;
  double sum[kBlock] = {};
  if (columns == kBlock) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < kBlock; ++c) sum[c] += x[r * stride + c];
    }
  } else {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) sum[c] += x[r * stride + c];
    }
  }
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = static_cast<float>(sum[c]);
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

void column_sums(const float* x, std::int64_t rows, std::int64_t columns, float* sums) {
  for (std::int64_t c = 0; c < columns; c += 16) {
    column_block_sums(x + c, rows, columns, std::min<std::int64_t>(16, columns - c), sums + c);
  }
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
