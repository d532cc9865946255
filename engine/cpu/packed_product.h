// Matrix products in AVX-512 on operands as they lie: in f32 or bf16, transposed or not, with rows
// that may be some of an image's pixels. Panels of both operands are packed as they are used, so
// that neither a stride that is a multiple of a page nor a conversion costs anything to speak of.
//
// Arithmetic is f32. Each element of the result is one chain of fused multiply-adds over k, in
// order; so its bits depend neither on the number of threads nor on addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/families.h"
#include "engine/cpu/row_matrix.h"

namespace lockstep::engine::cpu {

enum class Stored { as_is, transposed };
enum class Activation { none, relu };

// y[m, n] = a[m, k] b[k, n] + bias. An operand that is stored transposed has k (a) or n (b) rows.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  RowMatrix a, b, y;
  Stored a_stored = Stored::as_is, b_stored = Stored::as_is;
  const float* bias = nullptr;               // may be absent
  Activation activation = Activation::none;  // a NaN passes it
};

// Bytes: about 1.2 MiB a thread; up to 2.5 MiB more a thread where y is bf16 and k above 512. The
// operands' addresses do not matter.
[[nodiscard]] std::size_t packed_product_workspace(const Context& context,
                                                   const MatrixProduct& product);

// REQUIRES: Isa::avx512; operands do not overlap y; b, where transposed, is f32 and its
// rows are dense.
[[nodiscard]] Kernel packed_product(const Context& context, const MatrixProduct& product,
                                    std::byte* workspace);

}  // namespace lockstep::engine::cpu
