#include "engine/cpu/product.h"

#include <utility>

#include "engine/cpu/column_sums.h"
#include "engine/cpu/product_onednn.h"

namespace lockstep::engine::cpu {
namespace {

// A weight, or its gradient, as an operand.
RowMatrix weight(std::byte* data, const ProductShape& s) {
  return dense_rows({data, DType::f32},
                    s.weight_layout == WeightLayout::out_in ? s.inputs : s.outputs);
}

MatrixProduct matrices(const ProductForward& p) {
  const bool in_out = p.shape.weight_layout == WeightLayout::in_out;
  return {.m = p.shape.rows,
          .n = p.shape.outputs,
          .k = p.shape.inputs,
          .a = p.x,
          .b = weight(p.w, p.shape),
          .y = p.y,
          .b_stored = in_out ? Stored::as_is : Stored::transposed,
          .bias = reinterpret_cast<const float*>(p.b),
          .activation = p.activation};
}
MatrixProduct matrices(const ProductBackwardWeights& p) {
  const bool in_out = p.shape.weight_layout == WeightLayout::in_out;
  return {.m = in_out ? p.shape.inputs : p.shape.outputs,
          .n = in_out ? p.shape.outputs : p.shape.inputs,
          .k = p.shape.rows,
          .a = in_out ? p.x : p.dy,
          .b = in_out ? p.dy : p.x,
          .y = weight(p.dw, p.shape),
          .a_stored = Stored::transposed};
}
MatrixProduct matrices(const ProductBackwardData& p) {
  const bool in_out = p.shape.weight_layout == WeightLayout::in_out;
  return {.m = p.shape.rows,
          .n = p.shape.inputs,
          .k = p.shape.outputs,
          .a = p.dy,
          .b = weight(p.w, p.shape),
          .y = p.dx,
          .b_stored = in_out ? Stored::transposed : Stored::as_is};
}

LibraryProduct library(const ProductForward& p, DType type) {
  return {.matrices = matrices(p), .type = type, .b_is = LibraryProduct::B::weight, .bias = p.bias};
}
LibraryProduct library(const ProductBackwardWeights& p, DType type) {
  return {.matrices = matrices(p), .type = type};
}
LibraryProduct library(const ProductBackwardData& p, DType type) {
  return {.matrices = matrices(p), .type = type, .b_is = LibraryProduct::B::weight};
}

DType type_of(ProductWay way) {
  return way == ProductWay::onednn_bf16 ? DType::bf16 : DType::f32;
}

template <class Product>
ProductWishes wishes_of(const Context& context, const Product& p) {
  const ProductWay way = product_way(context, p.arithmetic);
  if (way == ProductWay::packed) {
    return {.workspace = packed_product_workspace(context, matrices(p))};
  }
  return library_product_wishes(context, library(p, type_of(way)));
}

template <class Product>
Kernel kernel_of(const Context& context, const Product& p, std::byte* workspace,
                 const std::string& name) {
  const ProductWay way = product_way(context, p.arithmetic);
  if (way == ProductWay::packed) {
    return packed_product(context, matrices(p), workspace);
  }
  return library_product(context, library(p, type_of(way)), workspace, name);
}

}  // namespace

Arithmetic arithmetic_of(const Node& node) {
  const bool low = node.attributes.has("compute") && node.attributes.text("compute") == "bf16";
  return low ? Arithmetic::bf16 : Arithmetic::f32;
}

ProductWay product_way(const Context& context, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::bf16 && context.low_products == LowProducts::onednn_bf16) {
    return ProductWay::onednn_bf16;
  }
  return context.isa == Isa::avx512 ? ProductWay::packed : ProductWay::onednn_f32;
}

ProductWishes product_wishes(const Context& context, const ProductForward& product) {
  return wishes_of(context, product);
}
ProductWishes product_wishes(const Context& context, const ProductBackwardWeights& product) {
  return wishes_of(context, product);
}
ProductWishes product_wishes(const Context& context, const ProductBackwardData& product) {
  return wishes_of(context, product);
}

Kernel product_kernel(const Context& context, const ProductForward& product, std::byte* workspace,
                      const std::string& name) {
  return kernel_of(context, product, workspace, name);
}

Kernel product_kernel(const Context& context, const ProductBackwardWeights& product,
                      std::byte* workspace, const std::string& name) {
  Kernel multiply = kernel_of(context, product, workspace, name);
  if (!product.db) return multiply;
  return [multiply = std::move(multiply), product, threads = context.threads] {
    multiply();
    column_sums(threads, product.dy.data, product.dy.type, product.shape.rows,
                product.shape.outputs, reinterpret_cast<float*>(product.db));
  };
}

Kernel product_kernel(const Context& context, const ProductBackwardData& product,
                      std::byte* workspace, const std::string& name) {
  return kernel_of(context, product, workspace, name);
}

}  // namespace lockstep::engine::cpu
