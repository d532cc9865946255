#include "engine/cpu/product.h"

#include "engine/cpu/elementwise.h"
#include "engine/cpu/onednn.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

dnnl::memory::desc plain(std::int64_t rows, std::int64_t columns) {
  return onednn::plain({rows, columns});
}
// The transpose of a row-major matrix of `columns` by `rows`.
dnnl::memory::desc transposed(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{1, rows}};
}

onednn::Product forward_of(const ProductShape& s, bool bias) {
  return {.a = plain(s.rows, s.inputs),
          .b = transposed(s.inputs, s.outputs),
          .bias = bias ? plain(1, s.outputs) : dnnl::memory::desc(),
          .y = plain(s.rows, s.outputs)};
}
onednn::Product backward_weights_of(const ProductShape& s) {
  return {.a = transposed(s.outputs, s.rows),
          .b = plain(s.rows, s.inputs),
          .bias = {},
          .y = plain(s.outputs, s.inputs)};
}
onednn::Product backward_data_of(const ProductShape& s) {
  return {.a = plain(s.rows, s.outputs),
          .b = plain(s.outputs, s.inputs),
          .bias = {},
          .y = plain(s.rows, s.inputs)};
}

struct Operands {
  const float* a;
  const float* b;
  const float* bias;
  float* y;
};

Kernel bind(const Context& context, const onednn::Product& product, const Operands& operands,
            std::byte* workspace, const std::string& name) {
  const onednn::Device& device = *context.device;
  use_threads(context.threads);
  return onednn::call("matrix product of " + name, [&] {
    const auto desc = onednn::product(device.engine(), product);
    onednn::Arguments arguments{
        {DNNL_ARG_SRC, device.memory(product.a, operands.a)},
        {DNNL_ARG_WEIGHTS, device.memory(product.b, operands.b)},
        {DNNL_ARG_DST, device.memory(product.y, operands.y)},
        {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), workspace)}};
    if (operands.bias) {
      arguments.emplace(DNNL_ARG_BIAS, device.memory(product.bias, operands.bias));
    }
    return device.kernel(dnnl::matmul(desc), std::move(arguments), context.threads,
                         "matrix product of " + name);
  });
}

}  // namespace

std::size_t product_workspace(const Context& context, const ProductShape& shape) {
  use_threads(context.threads);
  return onednn::call("matrix product", [&] {
    std::size_t most = 0;
    for (const onednn::Product& product : {forward_of(shape, true), forward_of(shape, false),
                                           backward_weights_of(shape), backward_data_of(shape)}) {
      const auto desc = onednn::product(context.device->engine(), product);
      most = std::max(most, desc.scratchpad_desc().get_size());
    }
    return most;
  });
}

Kernel product_forward(const Context& context, const ProductForward& product, std::byte* workspace,
                       const std::string& name) {
  Kernel multiply = bind(context, forward_of(product.shape, product.b != nullptr),
                         {product.x, product.w, product.b, product.y}, workspace, name);
  if (product.activation == Activation::none) return multiply;
  // oneDNN's own relu turns a NaN into 0, which would hide it from the loss.
  return [multiply = std::move(multiply), y = product.y, threads = context.threads,
          count = product.shape.rows * product.shape.outputs] {
    multiply();
    relu(threads, y, y, count);
  };
}

Kernel product_backward_weights(const Context& context, const ProductBackwardWeights& product,
                                std::byte* workspace, const std::string& name) {
  Kernel multiply = bind(context, backward_weights_of(product.shape),
                         {product.dy, product.x, nullptr, product.dw}, workspace, name);
  if (!product.db) return multiply;
  return [multiply = std::move(multiply), product] {
    multiply();
    column_sums(product.dy, product.shape.rows, product.shape.outputs, product.db);
  };
}

Kernel product_backward_data(const Context& context, const ProductBackwardData& product,
                             std::byte* workspace, const std::string& name) {
  return bind(context, backward_data_of(product.shape),
              {product.dy, product.w, nullptr, product.dx}, workspace, name);
}

}  // namespace lockstep::engine::cpu
