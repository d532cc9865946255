#include "engine/cpu/elementwise.h"

#include <algorithm>

#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

template <class X, class Y>
LOCKSTEP_MULTIVERSION void relu_range(const X* x, Y* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = to_float(x[i]);
    store(0.0F > v ? 0.0F : v, y[i]);
  }
}

template <class Y, class D, class X>
LOCKSTEP_MULTIVERSION void relu_backward_range(const Y* y, const D* dy, X* dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    store(to_float(y[i]) > 0.0F ? to_float(dy[i]) : 0.0F, dx[i]);
  }
}

template <class A, class B, class Y>
LOCKSTEP_MULTIVERSION void add_range(const A* a, const B* b, Y* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store(to_float(a[i]) + to_float(b[i]), y[i]);
}

template <class X, class Y>
void relu_all(int threads, const X* x, Y* y, std::int64_t count) {
  for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    relu_range(x + begin, y + begin, end - begin);
  });
}

// A loop over two operands and the output, of whatever types they are.
template <class A, class B, class Y>
Kernel pairwise(const Context& context, const Binding& b,
                void (*range)(const A*, const B*, Y*, std::int64_t)) {
  return [threads = context.threads, range, first = b.in<A>(0), second = b.in<B>(1),
          y = b.out<Y>(0), count = b.output(0).shape.elements()] {
    for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
      range(first + begin, second + begin, y + begin, end - begin);
    });
  };
}

Kernel bind_relu(const Context& context, const Binding& b) {
  return with_element_types(
      [&]<class X, class Y>() -> Kernel {
        return [threads = context.threads, x = b.in<X>(0), y = b.out<Y>(0),
                count = b.output(0).shape.elements()] { relu_all(threads, x, y, count); };
      },
      b.input(0).dtype, b.output(0).dtype);
}

Kernel bind_relu_backward(const Context& context, const Binding& b) {
  return with_element_types(
      [&]<class Y, class D, class X>() {
        return pairwise<Y, D, X>(context, b, relu_backward_range);
      },
      b.input(0).dtype, b.input(1).dtype, b.output(0).dtype);
}

Kernel bind_add(const Context& context, const Binding& b) {
  return with_element_types(
      [&]<class A, class B, class Y>() { return pairwise<A, B, Y>(context, b, add_range); },
      b.input(0).dtype, b.input(1).dtype, b.output(0).dtype);
}

}  // namespace

void relu(int threads, const float* x, float* y, std::int64_t count) {
  relu_all(threads, x, y, count);
}

Family elementwise_kernels(const Context& context) {
  auto with = [&context](auto bind) {
    return [context, bind](const Binding& b) { return bind(context, b); };
  };
  return {{.op = "relu", .bind = with(bind_relu)},
          {.op = "relu_backward", .bind = with(bind_relu_backward)},
          {.op = "add", .bind = with(bind_add)},
          {.op = "accumulate", .bind = with(bind_add)}};
}

}  // namespace lockstep::engine::cpu
