// Matrix products in the three forms that training needs: x [rows, inputs], w f32 in either
// orientation, y [rows, outputs]; x and y (and their gradients) in f32 or bf16. Linear layers use
// them, and convolutions of 1x1, whose rows are pixels.
//
// Three ways, chosen by what the table may use:
//   packed        AVX-512 in f32, on any operands (packed_product.h)
//   onednn_f32    oneDNN in f32 elsewhere; operands stored in bf16 pass through the workspace,
//                 and for oneDNN in general those whose rows are not dense
//   onednn_bf16   oneDNN in bf16 with f32 sums where a node allows it and LowProducts says so;
//                 weights are derived ones in bf16, operands stored in f32 pass through the
//                 workspace
// Only the packed ones' bits are the same on any number of threads.
#pragma once

#include <cstdint>
#include <string>

#include "engine/cpu/convert.h"
#include "engine/cpu/families.h"
#include "engine/cpu/packed_product.h"
#include "engine/ops/linear.h"

namespace lockstep::engine::cpu {

// The least that a node may compute in: bf16 where its attribute `compute` says so.
enum class Arithmetic { f32, bf16 };
[[nodiscard]] Arithmetic arithmetic_of(const Node& node);

enum class ProductWay { packed, onednn_f32, onednn_bf16 };
[[nodiscard]] ProductWay product_way(const Context& context, Arithmetic arithmetic);

struct ProductShape {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  WeightLayout weight_layout = WeightLayout::out_in;
};

enum class Bias { absent, present };

// What a product wants; its operands' addresses do not matter.
struct ProductWishes {
  Layout weight;              // of w, not of its gradient
  std::size_t workspace = 0;  // bytes
};

// y = x w' + b. A NaN passes the activation.
struct ProductForward {
  ProductShape shape;
  Arithmetic arithmetic = Arithmetic::f32;
  Activation activation = Activation::none;
  RowMatrix x;
  std::byte* w = nullptr;
  Bias bias = Bias::absent;
  std::byte* b = nullptr;  // f32
  RowMatrix y;
};
ProductWishes product_wishes(const Context& context, const ProductForward& product);
Kernel product_kernel(const Context& context, const ProductForward& product, std::byte* workspace,
                      const std::string& name);

// dw = dy' x, db = column sums of dy, whose rows are dense.
struct ProductBackwardWeights {
  ProductShape shape;
  Arithmetic arithmetic = Arithmetic::f32;
  RowMatrix x;
  RowMatrix dy;
  std::byte* dw = nullptr;  // f32
  std::byte* db = nullptr;  // f32; may be absent
};
ProductWishes product_wishes(const Context& context, const ProductBackwardWeights& product);
Kernel product_kernel(const Context& context, const ProductBackwardWeights& product,
                      std::byte* workspace, const std::string& name);

// dx = dy w.
struct ProductBackwardData {
  ProductShape shape;
  Arithmetic arithmetic = Arithmetic::f32;
  std::byte* w = nullptr;
  RowMatrix dy;
  RowMatrix dx;
};
ProductWishes product_wishes(const Context& context, const ProductBackwardData& product);
Kernel product_kernel(const Context& context, const ProductBackwardData& product,
                      std::byte* workspace, const std::string& name);

}  // namespace lockstep::engine::cpu
