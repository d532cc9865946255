// Convolutions of 1x1 are matrix products over pixels, those with few channels have kernels of
// their own (small_convolution.h); both take weights as they are. oneDNN does the others and
// chooses the layout of its weights.
#include <cstring>

#include "engine/cpu/convolution_onednn.h"
#include "engine/cpu/convolution_shape.h"
#include "engine/cpu/families.h"
#include "engine/cpu/operands.h"
#include "engine/cpu/product.h"
#include "engine/cpu/small_convolution.h"

namespace lockstep::engine::cpu {
namespace {

// Shapes by op: the third operand's is known from the attributes alone.
ConvolutionShape forward_shape(const Operands& o) {
  return convolution_shape(o.in_shape(0), o.in_shape(1), o.out_shape(0), o.attributes());
}
ConvolutionShape backward_weights_shape(const Operands& o) {
  return convolution_shape(o.in_shape(0), o.out_shape(0), o.in_shape(1), o.attributes());
}
ConvolutionShape backward_data_shape(const Operands& o) {
  return convolution_shape(o.out_shape(0), o.in_shape(0), o.in_shape(1), o.attributes());
}

// With a stride too: the pixels that the kernel sees are rows of a matrix.
bool is_product(const ConvolutionShape& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.pad == 0;
}

ProductShape product_shape(const ConvolutionShape& s) {
  return {.rows = s.images * s.out_height * s.out_width, .inputs = s.inputs, .outputs = s.outputs};
}
RowMatrix output_pixels(const StoredArray& y, const ConvolutionShape& s) {
  return dense_rows(y, s.outputs);
}
// The pixels of the input that a kernel of 1x1 sees.
RowMatrix input_pixels(const StoredArray& x, const ConvolutionShape& s) {
  if (s.stride == 1) return dense_rows(x, s.inputs);
  return {.data = x.data,
          .type = x.type,
          .rows = {.stride = s.stride * s.inputs,
                   .per_line = s.out_width,
                   .per_image = s.out_height * s.out_width,
                   .line_stride = s.stride * s.width * s.inputs,
                   .image_stride = s.height * s.width * s.inputs}};
}

ProductForward forward_product(const Operands& o, const ConvolutionShape& s) {
  return {.shape = product_shape(s),
          .arithmetic = arithmetic_of(o.node()),
          .x = input_pixels(o.in(0), s),
          .w = o.in(1).data,
          .bias = o.has_in(2) ? Bias::present : Bias::absent,
          .b = o.in(2).data,
          .y = output_pixels(o.out(0), s)};
}
ProductBackwardWeights backward_weights_product(const Operands& o, const ConvolutionShape& s) {
  return {.shape = product_shape(s),
          .arithmetic = arithmetic_of(o.node()),
          .x = input_pixels(o.in(0), s),
          .dy = output_pixels(o.in(1), s),
          .dw = o.out(0).data,
          .db = o.out(1).data};
}
ProductBackwardData backward_data_product(const Operands& o, const ConvolutionShape& s) {
  return {.shape = product_shape(s),
          .arithmetic = arithmetic_of(o.node()),
          .w = o.in(0).data,
          .dy = output_pixels(o.in(1), s),
          .dx = input_pixels(o.out(0), s)};
}

// The hand-written kernels for few channels take f32 alone.
bool all_f32(const StoredArray& a, const StoredArray& b) {
  return a.type == DType::f32 && b.type == DType::f32;
}
const float* floats(const StoredArray& array) {
  return reinterpret_cast<const float*>(array.data);
}
float* floats_out(const StoredArray& array) {
  return reinterpret_cast<float*>(array.data);
}

// Wishes with the weight, or its gradient, in a layout.
OperandWishes input_wishes(const Operands& o, std::size_t weight, const ProductWishes& wanted) {
  OperandWishes wishes{.workspace = wanted.workspace};
  wishes.inputs.resize(o.node().inputs.size());
  wishes.inputs[weight] = wanted.weight;
  return wishes;
}

OperandWishes forward_wishes(const Context& context, const Operands& o) {
  const ConvolutionShape shape = forward_shape(o);
  if (is_product(shape)) {
    return input_wishes(o, 1, product_wishes(context, forward_product(o, shape)));
  }
  if (all_f32(o.in(0), o.out(0))) {
    if (const auto bytes = small_forward_workspace(context, shape)) return {.workspace = *bytes};
  }
  return forward_convolution_wishes(context, o, shape);
}

OperandWishes backward_weights_wishes(const Context& context, const Operands& o) {
  const ConvolutionShape shape = backward_weights_shape(o);
  if (is_product(shape)) {
    return {.workspace = product_wishes(context, backward_weights_product(o, shape)).workspace};
  }
  if (all_f32(o.in(0), o.in(1))) {
    if (const auto bytes = small_backward_weights_workspace(context, shape))
      return {.workspace = *bytes};
  }
  return backward_weights_convolution_wishes(context, o, shape);
}

OperandWishes backward_data_wishes(const Context& context, const Operands& o) {
  const ConvolutionShape shape = backward_data_shape(o);
  if (is_product(shape)) {
    return input_wishes(o, 0, product_wishes(context, backward_data_product(o, shape)));
  }
  if (all_f32(o.in(1), o.out(0))) {
    if (const auto bytes = small_backward_data_workspace(context, shape))
      return {.workspace = *bytes};
  }
  return backward_data_convolution_wishes(context, o, shape);
}

Kernel bind_forward(const Context& context, const Binding& b) {
  const Operands o(b);
  const ConvolutionShape shape = forward_shape(o);
  if (is_product(shape)) {
    return product_kernel(context, forward_product(o, shape), b.workspace, b.node.name);
  }
  if (all_f32(o.in(0), o.out(0)) && small_forward_workspace(context, shape)) {
    return small_forward(context,
                         {.shape = shape,
                          .x = floats(o.in(0)),
                          .w = floats(o.in(1)),
                          .b = floats(o.in(2)),
                          .y = floats_out(o.out(0))},
                         b.workspace);
  }
  return forward_convolution(context, b, shape);
}

Kernel bind_backward_weights(const Context& context, const Binding& b) {
  const Operands o(b);
  const ConvolutionShape shape = backward_weights_shape(o);
  if (is_product(shape)) {
    return product_kernel(context, backward_weights_product(o, shape), b.workspace, b.node.name);
  }
  if (all_f32(o.in(0), o.in(1)) && small_backward_weights_workspace(context, shape)) {
    return small_backward_weights(context,
                                  {.shape = shape,
                                   .x = floats(o.in(0)),
                                   .dy = floats(o.in(1)),
                                   .dw = floats_out(o.out(0)),
                                   .db = floats_out(o.out(1))},
                                  b.workspace);
  }
  return backward_weights_convolution(context, b, shape);
}

// Writes 0 to the pixels that a kernel of 1x1 with a stride does not see.
Kernel over_zeros(Kernel product, const Operands& o) {
  const StoredArray dx = o.out(0);
  const std::size_t bytes = static_cast<std::size_t>(o.out_shape(0).elements()) * size_of(dx.type);
  return [product = std::move(product), dx, bytes] {
    std::memset(dx.data, 0, bytes);
    product();
  };
}

Kernel bind_backward_data(const Context& context, const Binding& b) {
  const Operands o(b);
  const ConvolutionShape shape = backward_data_shape(o);
  if (is_product(shape)) {
    Kernel product =
        product_kernel(context, backward_data_product(o, shape), b.workspace, b.node.name);
    return shape.stride == 1 ? product : over_zeros(std::move(product), o);
  }
  if (all_f32(o.in(1), o.out(0)) && small_backward_data_workspace(context, shape)) {
    return small_backward_data(
        context,
        {.shape = shape, .w = floats(o.in(0)), .dy = floats(o.in(1)), .dx = floats_out(o.out(0))},
        b.workspace);
  }
  return backward_data_convolution(context, b, shape);
}

KernelDefinition definition(const Context& context, std::string op,
                            Kernel (*bind)(const Context&, const Binding&),
                            OperandWishes (*wishes)(const Context&, const Operands&)) {
  return {.op = std::move(op),
          .bind = [context, bind](const Binding& b) { return bind(context, b); },
          .wishes = [context, wishes](
                        const Graph& graph,
                        const Node& node) { return wishes(context, Operands(graph, node)); }};
}

}  // namespace

Family convolution_kernels(const Context& context) {
  return {definition(context, "conv2d", bind_forward, forward_wishes),
          definition(context, "conv2d_backward_weights", bind_backward_weights,
                     backward_weights_wishes),
          definition(context, "conv2d_backward_data", bind_backward_data, backward_data_wishes)};
}

}  // namespace lockstep::engine::cpu
