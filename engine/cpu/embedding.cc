// Rows of two tables, and their gradients. Sums go by rows of the batch, in order, within columns
// of a fixed width: their bits do not depend on the number of threads.
#include <algorithm>
#include <limits>

#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kColumns = 256;  // of a piece of the sums
constexpr std::int64_t kRows = 16;      // of a piece of the look-ups

struct Shapes {
  std::int64_t samples, context, columns;
  [[nodiscard]] std::int64_t rows() const { return samples * context; }
};

Shapes shapes_of(const Binding& b, std::int64_t columns) {
  const Shape& tokens = b.input(0).shape;
  return {tokens[0], tokens[1], columns};
}

template <class T>
LOCKSTEP_MULTIVERSION void sum_of(const float* token, const float* position, T* out,
                                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store(token[i] + position[i], out[i]);
}

template <class T>
LOCKSTEP_MULTIVERSION void add_to(const T* row, float* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += to_float(row[i]);
}

template <class T>
Kernel bind_forward(const Context& context, const Binding& b) {
  return [threads = context.threads, s = shapes_of(b, b.output(0).shape[1]),
          vocabulary = b.input(1).shape[0], tokens = b.in<std::int32_t>(0), table = b.in<float>(1),
          positions = b.in<float>(2), out = b.out<T>(0)] {
    for_ranges(threads, s.rows(), kRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        T* to = out + r * s.columns;
        if (tokens[r] >= 0 && tokens[r] < vocabulary) {
          sum_of(table + tokens[r] * s.columns, positions + r % s.context * s.columns, to,
                 s.columns);
        } else {
          T nan;
          store(std::numeric_limits<float>::quiet_NaN(), nan);
          std::fill(to, to + s.columns, nan);
        }
      }
    });
  };
}

template <class T>
Kernel bind_positions(const Context& context, const Binding& b) {
  return [threads = context.threads, s = shapes_of(b, b.output(0).shape[1]), dy = b.in<T>(1),
          table = b.out<float>(0), positions = b.output(0).shape[0]] {
    for_pieces(threads, positions, [&](std::int64_t t) {
      float* sum = table + t * s.columns;
      std::fill(sum, sum + s.columns, 0.0F);
      if (t >= s.context) return;
      for (std::int64_t n = 0; n < s.samples; ++n) {
        add_to(dy + (n * s.context + t) * s.columns, sum, s.columns);
      }
    });
  };
}

template <class T>
Kernel bind_tokens(const Context& context, const Binding& b) {
  return [threads = context.threads, s = shapes_of(b, b.output(0).shape[1]),
          tokens = b.in<std::int32_t>(0), dy = b.in<T>(1), table = b.out<float>(0),
          vocabulary = b.output(0).shape[0], adds = b.node.inputs[2].valid()] {
    if (!adds) {
      for_ranges(threads, vocabulary * s.columns, kPiece,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::fill(table + begin, table + end, 0.0F);
                 });
    }
    for_ranges(threads, s.columns, kColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = 0; r < s.rows(); ++r) {
        if (tokens[r] < 0 || tokens[r] >= vocabulary) continue;
        add_to(dy + r * s.columns + begin, table + tokens[r] * s.columns + begin, end - begin);
      }
    });
  };
}

}  // namespace

Family embedding_kernels(const Context& context) {
  auto forward = [context](const Binding& b) {
    return with_element_types([&]<class T>() { return bind_forward<T>(context, b); },
                              b.output(0).dtype);
  };
  auto positions = [context](const Binding& b) {
    return with_element_types([&]<class T>() { return bind_positions<T>(context, b); },
                              b.input(1).dtype);
  };
  auto tokens = [context](const Binding& b) {
    return with_element_types([&]<class T>() { return bind_tokens<T>(context, b); },
                              b.input(1).dtype);
  };
  return {{.op = "embedding", .bind = forward},
          {.op = "embedding_backward_positions", .bind = positions},
          {.op = "embedding_backward_tokens", .bind = tokens}};
}

}  // namespace lockstep::engine::cpu
