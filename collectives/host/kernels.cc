#include "collectives/host/kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

// A target that is one of the sources is read and written at the same index only, which a compiler
// cannot know.
#if defined(__clang__)
#define LOCKSTEP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOCKSTEP_INDEPENDENT _Pragma("GCC ivdep")
#endif
#if defined(__x86_64__) && !defined(LOCKSTEP_SINGLE_TARGET)
#define LOCKSTEP_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LOCKSTEP_CLONES
#endif
// Only what is inlined into the clones is compiled for their instruction sets.
#define LOCKSTEP_INLINE inline __attribute__((always_inline))

namespace lockstep::collectives::host {
namespace {

// Elements that are combined at a time: what many sources need between passes stays in the first
// cache.
constexpr std::size_t kBlock = 1024;

struct Sum {
  template <class T>
  static LOCKSTEP_INLINE T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};

// Sums of signed integers wrap, as they do in every other library.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Wrapping<std::int64_t> {
  using type = std::uint64_t;
};

struct Max {
  template <class T>
  static LOCKSTEP_INLINE T of(T a, T b) {
    return b > a || b != b ? b : a;
  }
};

struct Min {
  template <class T>
  static LOCKSTEP_INLINE T of(T a, T b) {
    return b < a || b != b ? b : a;
  }
};

template <class T, class Op, int P>
LOCKSTEP_INLINE void fused(T* target, const T* const* sources, std::size_t n) {
  const T* source[P];
  for (int p = 0; p < P; ++p) source[p] = sources[p];
  LOCKSTEP_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    T value = source[0][i];
    for (int p = 1; p < P; ++p) value = Op::template of<T>(value, source[p][i]);
    target[i] = value;
  }
}

template <class T, class Op>
LOCKSTEP_INLINE void up_to_four(T* target, const T* const* sources, int count, std::size_t n) {
  switch (count) {
    case 1:
      if (target != sources[0]) std::memcpy(target, sources[0], n * sizeof(T));
      break;
    case 2:
      fused<T, Op, 2>(target, sources, n);
      break;
    case 3:
      fused<T, Op, 3>(target, sources, n);
      break;
    default:
      fused<T, Op, 4>(target, sources, n);
      break;
  }
}

template <class T, class Op>
LOCKSTEP_INLINE void many(T* target, const std::byte* const* sources, int count,
                          std::size_t elements) {
  const T* group[4];
  const auto source = [sources](int p, std::size_t begin) {
    return reinterpret_cast<const T*>(sources[p]) + begin;
  };
  if (count <= 4) {
    for (int p = 0; p < count; ++p) group[p] = source(p, 0);
    return up_to_four<T, Op>(target, group, count, elements);
  }
  T partial[kBlock];
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    const std::size_t n = std::min(kBlock, elements - begin);
    for (int p = 0; p < 4; ++p) group[p] = source(p, begin);
    up_to_four<T, Op>(partial, group, 4, n);
    for (int done = 4; done < count;) {
      const int more = std::min(3, count - done);
      group[0] = partial;
      for (int p = 0; p < more; ++p) group[p + 1] = source(done + p, begin);
      done += more;
      up_to_four<T, Op>(done == count ? target + begin : partial, group, more + 1, n);
    }
  }
}

template <class T>
LOCKSTEP_INLINE void divide(T* target, int count, std::size_t n) {
  const T ranks = static_cast<T>(count);
  for (std::size_t i = 0; i < n; ++i) target[i] = static_cast<T>(target[i] / ranks);
}

template <class T>
LOCKSTEP_INLINE void typed(ReduceOp op, std::byte* to, const std::byte* const* from, int count,
                           std::size_t n) {
  using W = typename Wrapping<T>::type;
  switch (op) {
    case ReduceOp::max:
      return many<T, Max>(reinterpret_cast<T*>(to), from, count, n);
    case ReduceOp::min:
      return many<T, Min>(reinterpret_cast<T*>(to), from, count, n);
    case ReduceOp::sum:
    case ReduceOp::average:
      many<W, Sum>(reinterpret_cast<W*>(to), from, count, n);
      if (op == ReduceOp::average) divide(reinterpret_cast<T*>(to), count, n);
  }
}

}  // namespace

void divide(DType type, std::byte* target, int count, std::size_t elements) {
  switch (type) {
    case DType::f32:
      return divide(reinterpret_cast<float*>(target), count, elements);
    case DType::f64:
      return divide(reinterpret_cast<double*>(target), count, elements);
    case DType::i32:
      return divide(reinterpret_cast<std::int32_t*>(target), count, elements);
    case DType::i64:
      return divide(reinterpret_cast<std::int64_t*>(target), count, elements);
    case DType::bf16:
    case DType::u8:
      break;  // refused when the call was made
  }
}

LOCKSTEP_CLONES
void combine(DType type, ReduceOp op, std::byte* target, const std::byte* const* sources, int count,
             std::size_t elements) {
  switch (type) {
    case DType::f32:
      return typed<float>(op, target, sources, count, elements);
    case DType::f64:
      return typed<double>(op, target, sources, count, elements);
    case DType::bf16:
      break;  // refused when the call was made
    case DType::i32:
      return typed<std::int32_t>(op, target, sources, count, elements);
    case DType::i64:
      return typed<std::int64_t>(op, target, sources, count, elements);
    case DType::u8:
      return typed<std::uint8_t>(op, target, sources, count, elements);
  }
}

}  // namespace lockstep::collectives::host
