// Products as oneDNN does them, in f32 or in bf16 with f32 sums.
#pragma once

#include <cstddef>
#include <string>

#include "engine/cpu/product.h"

namespace lockstep::engine::cpu {

struct LibraryProduct {
  MatrixProduct matrices;                                    // whose rows are dense
  DType type = DType::f32;                                   // in which operands are multiplied
  enum class B { activation, weight } b_is = B::activation;  // a weight in bf16 is a derived one
  Bias bias = Bias::absent;
};

[[nodiscard]] ProductWishes library_product_wishes(const Context& context,
                                                   const LibraryProduct& product);
// `name` is for messages.
[[nodiscard]] Kernel library_product(const Context& context, const LibraryProduct& product,
                                     std::byte* workspace, const std::string& name);

}  // namespace lockstep::engine::cpu
