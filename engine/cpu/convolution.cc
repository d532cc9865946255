// Convolutions of 1x1 and stride 1 are matrix products over pixels, those with few channels have
// kernels of their own (small_convolution.h); both take weights as they are. oneDNN does the others
// and chooses the layout of its weights.
#include "engine/cpu/convolution_shape.h"
#include "engine/cpu/families.h"
#include "engine/cpu/onednn.h"
#include "engine/cpu/product.h"
#include "engine/cpu/small_convolution.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

enum class Bias { absent, present };

bool is_product(const ConvolutionShape& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.stride == 1 && s.pad == 0;
}

ProductShape product_shape(const ConvolutionShape& s) {
  return {.rows = s.images * s.height * s.width, .inputs = s.inputs, .outputs = s.outputs};
}

dnnl::memory::desc image(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return {{n, c, h, w}, dnnl::memory::data_type::f32, dnnl::memory::dims{h * w * c, 1, w * c, c}};
}

onednn::Convolution convolution_of(const ConvolutionShape& s, Bias bias) {
  return {.x = image(s.images, s.inputs, s.height, s.width),
          .w = {{s.outputs, s.inputs, s.kernel_h, s.kernel_w},
                dnnl::memory::data_type::f32,
                dnnl::memory::format_tag::any},
          .b = bias == Bias::present ? onednn::plain({s.outputs}) : dnnl::memory::desc(),
          .y = image(s.images, s.outputs, s.out_height, s.out_width),
          .strides = {s.stride, s.stride},
          .pads = {s.pad, s.pad}};
}

// Shapes by op: the third operand's is known from the attributes alone.
ConvolutionShape forward_shape(const Graph& graph, const Node& node) {
  return convolution_shape(graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape,
                           graph.value(node.outputs[0]).shape, node.attributes);
}
ConvolutionShape backward_weights_shape(const Graph& graph, const Node& node) {
  return convolution_shape(graph.value(node.inputs[0]).shape, graph.value(node.outputs[0]).shape,
                           graph.value(node.inputs[1]).shape, node.attributes);
}
ConvolutionShape backward_data_shape(const Graph& graph, const Node& node) {
  return convolution_shape(graph.value(node.outputs[0]).shape, graph.value(node.inputs[0]).shape,
                           graph.value(node.inputs[1]).shape, node.attributes);
}
Bias bias_of_forward(const Node& node) {
  return node.inputs[2].valid() ? Bias::present : Bias::absent;
}
Bias bias_of_backward(const Node& node) {
  return node.outputs.size() > 1 ? Bias::present : Bias::absent;
}

OperandWishes product_wishes(const Context& context, const ConvolutionShape& shape) {
  return {.workspace = product_workspace(context, product_shape(shape))};
}

OperandWishes forward_wishes(const Context& context, const Graph& graph, const Node& node) {
  const ConvolutionShape shape = forward_shape(graph, node);
  if (is_product(shape)) return product_wishes(context, shape);
  if (const auto bytes = small_forward_workspace(context, shape)) return {.workspace = *bytes};
  use_threads(context.threads);
  return onednn::call("convolution " + node.name, [&] {
    onednn::Device& device = *context.device;
    const auto desc =
        onednn::forward(device.engine(), convolution_of(shape, bias_of_forward(node)));
    return OperandWishes{.inputs = {{}, device.layout(desc.weights_desc()), {}},
                         .workspace = desc.scratchpad_desc().get_size()};
  });
}

OperandWishes backward_weights_wishes(const Context& context, const Graph& graph,
                                      const Node& node) {
  const ConvolutionShape shape = backward_weights_shape(graph, node);
  if (is_product(shape)) return product_wishes(context, shape);
  if (const auto bytes = small_backward_weights_workspace(context, shape))
    return {.workspace = *bytes};
  use_threads(context.threads);
  return onednn::call("convolution " + node.name, [&] {
    onednn::Device& device = *context.device;
    const auto desc =
        onednn::backward_weights(device.engine(), convolution_of(shape, bias_of_backward(node)));
    OperandWishes wishes{.outputs = {device.layout(desc.diff_weights_desc())},
                         .workspace = desc.scratchpad_desc().get_size()};
    wishes.outputs.resize(node.outputs.size());
    return wishes;
  });
}

OperandWishes backward_data_wishes(const Context& context, const Graph& graph, const Node& node) {
  const ConvolutionShape shape = backward_data_shape(graph, node);
  if (is_product(shape)) return product_wishes(context, shape);
  if (const auto bytes = small_backward_data_workspace(context, shape))
    return {.workspace = *bytes};
  use_threads(context.threads);
  return onednn::call("convolution " + node.name, [&] {
    onednn::Device& device = *context.device;
    const auto desc = onednn::backward_data(device.engine(), convolution_of(shape, Bias::absent));
    return OperandWishes{.inputs = {device.layout(desc.weights_desc()), {}},
                         .workspace = desc.scratchpad_desc().get_size()};
  });
}

Kernel bind_forward(const Context& context, const Binding& b) {
  const ConvolutionShape shape = forward_shape(b.graph, b.node);
  if (is_product(shape)) {
    return product_forward(context,
                           {.shape = product_shape(shape),
                            .x = b.in<float>(0),
                            .w = b.in<float>(1),
                            .b = b.in<float>(2),
                            .y = b.out<float>(0)},
                           b.workspace, b.node.name);
  }
  if (small_forward_workspace(context, shape)) {
    return small_forward(context,
                         {.shape = shape,
                          .x = b.in<float>(0),
                          .w = b.in<float>(1),
                          .b = b.in<float>(2),
                          .y = b.out<float>(0)},
                         b.workspace);
  }
  use_threads(context.threads);
  return onednn::call("convolution " + b.node.name, [&] {
    const onednn::Device& device = *context.device;
    const onednn::Convolution convolution = convolution_of(shape, bias_of_forward(b.node));
    const auto desc = onednn::forward(device.engine(), convolution);
    onednn::Arguments arguments{
        {DNNL_ARG_SRC, device.memory(convolution.x, b.inputs[0])},
        {DNNL_ARG_WEIGHTS, device.memory(desc.weights_desc(), b.inputs[1])},
        {DNNL_ARG_DST, device.memory(convolution.y, b.outputs[0])},
        {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), b.workspace)}};
    if (b.inputs[2]) arguments.emplace(DNNL_ARG_BIAS, device.memory(convolution.b, b.inputs[2]));
    return device.kernel(dnnl::convolution_forward(desc), std::move(arguments), context.threads,
                         "convolution " + b.node.name);
  });
}

Kernel bind_backward_weights(const Context& context, const Binding& b) {
  const ConvolutionShape shape = backward_weights_shape(b.graph, b.node);
  const bool bias = b.outputs.size() > 1;
  if (is_product(shape)) {
    return product_backward_weights(context,
                                    {.shape = product_shape(shape),
                                     .x = b.in<float>(0),
                                     .dy = b.in<float>(1),
                                     .dw = b.out<float>(0),
                                     .db = bias ? b.out<float>(1) : nullptr},
                                    b.workspace, b.node.name);
  }
  if (small_backward_weights_workspace(context, shape)) {
    return small_backward_weights(context,
                                  {.shape = shape,
                                   .x = b.in<float>(0),
                                   .dy = b.in<float>(1),
                                   .dw = b.out<float>(0),
                                   .db = bias ? b.out<float>(1) : nullptr},
                                  b.workspace);
  }
  use_threads(context.threads);
  return onednn::call("convolution " + b.node.name, [&] {
    const onednn::Device& device = *context.device;
    const onednn::Convolution convolution = convolution_of(shape, bias_of_backward(b.node));
    const auto desc = onednn::backward_weights(device.engine(), convolution);
    onednn::Arguments arguments{
        {DNNL_ARG_SRC, device.memory(convolution.x, b.inputs[0])},
        {DNNL_ARG_DIFF_DST, device.memory(convolution.y, b.inputs[1])},
        {DNNL_ARG_DIFF_WEIGHTS, device.memory(desc.diff_weights_desc(), b.outputs[0])},
        {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), b.workspace)}};
    if (bias) arguments.emplace(DNNL_ARG_DIFF_BIAS, device.memory(convolution.b, b.outputs[1]));
    return device.kernel(dnnl::convolution_backward_weights(desc), std::move(arguments),
                         context.threads, "convolution " + b.node.name);
  });
}

Kernel bind_backward_data(const Context& context, const Binding& b) {
  const ConvolutionShape shape = backward_data_shape(b.graph, b.node);
  if (is_product(shape)) {
    return product_backward_data(context,
                                 {.shape = product_shape(shape),
                                  .w = b.in<float>(0),
                                  .dy = b.in<float>(1),
                                  .dx = b.out<float>(0)},
                                 b.workspace, b.node.name);
  }
  if (small_backward_data_workspace(context, shape)) {
    return small_backward_data(
        context, {.shape = shape, .w = b.in<float>(0), .dy = b.in<float>(1), .dx = b.out<float>(0)},
        b.workspace);
  }
  use_threads(context.threads);
  return onednn::call("convolution " + b.node.name, [&] {
    const onednn::Device& device = *context.device;
    const onednn::Convolution convolution = convolution_of(shape, Bias::absent);
    const auto desc = onednn::backward_data(device.engine(), convolution);
    return device.kernel(
        dnnl::convolution_backward_data(desc),
        {{DNNL_ARG_WEIGHTS, device.memory(desc.weights_desc(), b.inputs[0])},
         {DNNL_ARG_DIFF_DST, device.memory(convolution.y, b.inputs[1])},
         {DNNL_ARG_DIFF_SRC, device.memory(convolution.x, b.outputs[0])},
         {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), b.workspace)}},
        context.threads, "convolution " + b.node.name);
  });
}

}  // namespace

Family convolution_kernels(const Context& context) {
  auto with = [&context](auto function) {
    return
        [context, function](const auto&... arguments) { return function(context, arguments...); };
  };
  return {{.op = "conv2d", .bind = with(bind_forward), .wishes = with(forward_wishes)},
          {.op = "conv2d_backward_weights",
           .bind = with(bind_backward_weights),
           .wishes = with(backward_weights_wishes)},
          {.op = "conv2d_backward_data",
           .bind = with(bind_backward_data),
           .wishes = with(backward_data_wishes)}};
}

}  // namespace lockstep::engine::cpu
