#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"
#include "engine/cpu/vector_math.h"

namespace lockstep::engine::cpu {
namespace {

// 0.5 * (1 + tanh(u)) is sigmoid(2u), where u = sqrt(2/pi) * (x + kCubic * x^3).
constexpr float kTwiceSqrt2OverPi = 1.59576912F, kCubic = 0.044715F;

template <class X, class Y>
LOCKSTEP_MULTIVERSION void by_tanh(const X* x, Y* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = to_float(x[i]);
    store(v * sigmoid_of(kTwiceSqrt2OverPi * (v + kCubic * v * v * v)), y[i]);
  }
}

template <class X, class Y>
LOCKSTEP_MULTIVERSION void exactly(const X* x, Y* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = to_float(x[i]);
    store(v * normal_at(v).below, y[i]);
  }
}

template <class X, class D>
LOCKSTEP_MULTIVERSION void backward_by_tanh(const X* x, const D* dy, X* dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = to_float(x[i]);
    const float s = sigmoid_of(kTwiceSqrt2OverPi * (v + kCubic * v * v * v));
    const float inner = kTwiceSqrt2OverPi * (1.0F + 3.0F * kCubic * v * v);
    store(to_float(dy[i]) * (s + v * s * (1.0F - s) * inner), dx[i]);
  }
}

template <class X, class D>
LOCKSTEP_MULTIVERSION void backward_exactly(const X* x, const D* dy, X* dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = to_float(x[i]);
    const Normal normal = normal_at(v);
    store(to_float(dy[i]) * (normal.below + v * normal.density), dx[i]);
  }
}

bool is_tanh(const Binding& b) {
  return b.node.attributes.text("approximation") == "tanh";
}

template <class X, class Y>
Kernel bind_forward(const Context& context, const Binding& b) {
  return [threads = context.threads, loop = is_tanh(b) ? by_tanh<X, Y> : exactly<X, Y>,
          x = b.in<X>(0), y = b.out<Y>(0), count = b.output(0).shape.elements()] {
    for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
      loop(x + begin, y + begin, end - begin);
    });
  };
}

// dx is stored as x is.
template <class X, class D>
Kernel bind_backward(const Context& context, const Binding& b) {
  return [threads = context.threads,
          loop = is_tanh(b) ? backward_by_tanh<X, D> : backward_exactly<X, D>, x = b.in<X>(0),
          dy = b.in<D>(1), dx = b.out<X>(0), count = b.output(0).shape.elements()] {
    for_ranges(threads, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
      loop(x + begin, dy + begin, dx + begin, end - begin);
    });
  };
}

}  // namespace

Family gelu_kernels(const Context& context) {
  auto forward = [context](const Binding& b) {
    return with_element_types([&]<class X, class Y>() { return bind_forward<X, Y>(context, b); },
                              b.input(0).dtype, b.output(0).dtype);
  };
  auto backward = [context](const Binding& b) {
    return with_element_types([&]<class X, class D>() { return bind_backward<X, D>(context, b); },
                              b.input(0).dtype, b.input(1).dtype);
  };
  return {{.op = "gelu", .bind = forward}, {.op = "gelu_backward", .bind = backward}};
}

}  // namespace lockstep::engine::cpu
