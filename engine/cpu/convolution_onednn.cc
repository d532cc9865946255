#include "engine/cpu/convolution_onednn.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/cpu/onednn.h"
#include "engine/cpu/product.h"
#include "engine/cpu/staging.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kStagedBytes = 1 << 20;  // half a second-level cache

DType computed_type(const Context& context, const Node& node) {
  const bool low = product_way(context, arithmetic_of(node)) == ProductWay::onednn_bf16;
  return low ? DType::bf16 : DType::f32;
}

std::int64_t input_elements(const ConvolutionShape& s) {
  return s.height * s.width * s.inputs;
}
std::int64_t output_elements(const ConvolutionShape& s) {
  return s.out_height * s.out_width * s.outputs;
}

dnnl::memory::desc image(DType type, std::int64_t n, std::int64_t c, std::int64_t h,
                         std::int64_t w) {
  return {{n, c, h, w}, onednn::type_of(type), dnnl::memory::dims{h * w * c, 1, w * c, c}};
}

struct Types {
  DType x, w, y;
};

onednn::Convolution convolution_of(const ConvolutionShape& s, const Types& types, Bias bias) {
  return {.x = image(types.x, s.images, s.inputs, s.height, s.width),
          .w = {{s.outputs, s.inputs, s.kernel_h, s.kernel_w},
                onednn::type_of(types.w),
                dnnl::memory::format_tag::any},
          .b = bias == Bias::present ? onednn::plain({s.outputs}) : dnnl::memory::desc(),
          .y = image(types.y, s.images, s.outputs, s.out_height, s.out_width),
          .strides = {s.stride, s.stride},
          .pads = {s.pad, s.pad}};
}

// Where the activations of one chunk lie for the primitive.
struct ChunkPlaces {
  std::byte *scratchpad, *read, *written;
};

// What a chunk reads and writes; elements are those of one image.
struct Ends {
  StoredArray from, to;
  std::int64_t from_elements, to_elements;
};

// `shape` of as many of its images as are worked on at a time.
ConvolutionShape chunk_of(ConvolutionShape shape, DType computed, const Ends& ends) {
  const DType written = written_type(computed, ends.to.type);
  std::int64_t staged = 0;
  if (ends.from.type != computed) {
    staged += ends.from_elements * static_cast<std::int64_t>(size_of(computed));
  }
  if (ends.to.type != written) {
    staged += ends.to_elements * static_cast<std::int64_t>(size_of(written));
  }
  if (staged == 0) return shape;
  const std::int64_t images = shape.images;
  shape.images = std::clamp<std::int64_t>(kStagedBytes / staged, 1, images);
  while (images % shape.images != 0) --shape.images;
  return shape;
}

StoredArray at_image(const StoredArray& array, std::int64_t first, std::int64_t elements) {
  if (!array.data) return array;
  return {array.data + first * elements * static_cast<std::int64_t>(size_of(array.type)),
          array.type};
}

ChunkPlaces places(const Ends& ends, std::int64_t images, std::size_t scratchpad,
                   WorkspaceParts& parts, Staging& staging) {
  ChunkPlaces at{};
  at.scratchpad = parts.take(scratchpad);
  at.read = staging.read(ends.from, images * ends.from_elements);
  at.written = staging.written(ends.to, images * ends.to_elements);
  return at;
}

std::size_t chunk_workspace(const Ends& ends, DType type, std::int64_t images,
                            std::size_t scratchpad) {
  WorkspaceParts parts(nullptr);
  Staging staging(type, parts);
  places(ends, images, scratchpad, parts, staging);
  return parts.taken();
}

// The kernels that `chunk` makes of `step` images each, one after the other in one workspace.
template <class Chunk>
Kernel over_images(const Ends& ends, std::int64_t images, std::int64_t step, const Chunk& chunk) {
  std::vector<Kernel> chunks;
  for (std::int64_t first = 0; first < images; first += step) {
    chunks.push_back(chunk(Ends{at_image(ends.from, first, ends.from_elements),
                                at_image(ends.to, first, ends.to_elements), ends.from_elements,
                                ends.to_elements}));
  }
  if (chunks.size() == 1) return chunks[0];
  return [chunks = std::move(chunks)] {
    for (const Kernel& run : chunks) run();
  };
}

Ends forward_ends(const Operands& o, const ConvolutionShape& s) {
  return {o.in(0), o.out(0), input_elements(s), output_elements(s)};
}
Ends backward_data_ends(const Operands& o, const ConvolutionShape& s) {
  return {o.in(1), o.out(0), output_elements(s), input_elements(s)};
}
Bias bias_of_forward(const Operands& o) {
  return o.has_in(2) ? Bias::present : Bias::absent;
}
Bias bias_of_backward(const Operands& o) {
  return o.has_out(1) ? Bias::present : Bias::absent;
}

OperandWishes weight_wishes(const Operands& o, std::size_t weight, Layout layout,
                            std::size_t workspace) {
  OperandWishes wishes{.workspace = workspace};
  wishes.inputs.resize(o.node().inputs.size());
  wishes.inputs[weight] = std::move(layout);
  return wishes;
}

}  // namespace

OperandWishes forward_convolution_wishes(const Context& context, const Operands& o,
                                         const ConvolutionShape& shape) {
  use_threads(context.threads);
  return onednn::call("convolution " + o.node().name, [&] {
    const DType type = computed_type(context, o.node());
    const Ends ends = forward_ends(o, shape);
    const Types types{type, type, written_type(type, ends.to.type)};
    const ConvolutionShape chunk = chunk_of(shape, type, ends);
    const auto desc =
        onednn::forward(context.device->engine(), convolution_of(chunk, types, bias_of_forward(o)));
    return weight_wishes(
        o, 1, context.device->layout(desc.weights_desc()),
        chunk_workspace(ends, type, chunk.images, desc.scratchpad_desc().get_size()));
  });
}

Kernel forward_convolution(const Context& context, const Binding& b,
                           const ConvolutionShape& shape) {
  const Operands o(b);
  const std::string name = "convolution " + b.node.name;
  const onednn::Device& device = *context.device;
  use_threads(context.threads);
  return onednn::call(name, [&] {
    const DType type = computed_type(context, b.node);
    const Ends ends = forward_ends(o, shape);
    const Types types{type, type, written_type(type, ends.to.type)};
    const ConvolutionShape chunk = chunk_of(shape, type, ends);
    const onednn::Convolution convolution = convolution_of(chunk, types, bias_of_forward(o));
    const auto desc = onednn::forward(device.engine(), convolution);
    const dnnl::convolution_forward primitive(desc);
    auto run = [&](const Ends& some) {
      WorkspaceParts parts(b.workspace);
      Staging staging(type, parts);
      const ChunkPlaces at =
          places(some, chunk.images, desc.scratchpad_desc().get_size(), parts, staging);
      onednn::Arguments arguments{
          {DNNL_ARG_SRC, device.memory(convolution.x, at.read)},
          {DNNL_ARG_WEIGHTS, device.memory(desc.weights_desc(), b.inputs[1])},
          {DNNL_ARG_DST, device.memory(convolution.y, at.written)},
          {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), at.scratchpad)}};
      if (b.inputs[2]) arguments.emplace(DNNL_ARG_BIAS, device.memory(convolution.b, b.inputs[2]));
      return std::move(staging).around(
          context.threads, device.kernel(primitive, std::move(arguments), context.threads, name));
    };
    return over_images(ends, shape.images, chunk.images, run);
  });
}

OperandWishes backward_data_convolution_wishes(const Context& context, const Operands& o,
                                               const ConvolutionShape& shape) {
  use_threads(context.threads);
  return onednn::call("convolution " + o.node().name, [&] {
    const DType type = computed_type(context, o.node());
    const Ends ends = backward_data_ends(o, shape);
    const Types types{written_type(type, ends.to.type), type, type};
    const ConvolutionShape chunk = chunk_of(shape, type, ends);
    const auto desc =
        onednn::backward_data(context.device->engine(), convolution_of(chunk, types, Bias::absent));
    return weight_wishes(
        o, 0, context.device->layout(desc.weights_desc()),
        chunk_workspace(ends, type, chunk.images, desc.scratchpad_desc().get_size()));
  });
}

Kernel backward_data_convolution(const Context& context, const Binding& b,
                                 const ConvolutionShape& shape) {
  const Operands o(b);
  const std::string name = "convolution " + b.node.name;
  const onednn::Device& device = *context.device;
  use_threads(context.threads);
  return onednn::call(name, [&] {
    const DType type = computed_type(context, b.node);
    const Ends ends = backward_data_ends(o, shape);
    const Types types{written_type(type, ends.to.type), type, type};
    const ConvolutionShape chunk = chunk_of(shape, type, ends);
    const onednn::Convolution convolution = convolution_of(chunk, types, Bias::absent);
    const auto desc = onednn::backward_data(device.engine(), convolution);
    const dnnl::convolution_backward_data primitive(desc);
    auto run = [&](const Ends& some) {
      WorkspaceParts parts(b.workspace);
      Staging staging(type, parts);
      const ChunkPlaces at =
          places(some, chunk.images, desc.scratchpad_desc().get_size(), parts, staging);
      Kernel kernel = device.kernel(
          primitive,
          {{DNNL_ARG_WEIGHTS, device.memory(desc.weights_desc(), b.inputs[0])},
           {DNNL_ARG_DIFF_DST, device.memory(convolution.y, at.read)},
           {DNNL_ARG_DIFF_SRC, device.memory(convolution.x, at.written)},
           {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), at.scratchpad)}},
          context.threads, name);
      return std::move(staging).around(context.threads, std::move(kernel));
    };
    return over_images(ends, shape.images, chunk.images, run);
  });
}

namespace {

struct BatchPlaces {
  std::byte *scratchpad, *x, *dy;
};

BatchPlaces batch_places(const Operands& o, const ConvolutionShape& shape, std::size_t scratchpad,
                         WorkspaceParts& parts, Staging& staging) {
  BatchPlaces at{};
  at.scratchpad = parts.take(scratchpad);
  at.x = staging.read(o.in(0), shape.images * input_elements(shape));
  at.dy = staging.read(o.in(1), shape.images * output_elements(shape));
  return at;
}

}  // namespace

OperandWishes backward_weights_convolution_wishes(const Context& context, const Operands& o,
                                                  const ConvolutionShape& shape) {
  use_threads(context.threads);
  return onednn::call("convolution " + o.node().name, [&] {
    const DType type = computed_type(context, o.node());
    const auto desc = onednn::backward_weights(
        context.device->engine(),
        convolution_of(shape, {type, DType::f32, type}, bias_of_backward(o)));
    WorkspaceParts parts(nullptr);
    Staging staging(type, parts);
    batch_places(o, shape, desc.scratchpad_desc().get_size(), parts, staging);
    OperandWishes wishes{.outputs = {context.device->layout(desc.diff_weights_desc())},
                         .workspace = parts.taken()};
    wishes.outputs.resize(o.node().outputs.size());
    return wishes;
  });
}

Kernel backward_weights_convolution(const Context& context, const Binding& b,
                                    const ConvolutionShape& shape) {
  const Operands o(b);
  const std::string name = "convolution " + b.node.name;
  const onednn::Device& device = *context.device;
  use_threads(context.threads);
  return onednn::call(name, [&] {
    const DType type = computed_type(context, b.node);
    const Bias bias = bias_of_backward(o);
    const onednn::Convolution convolution = convolution_of(shape, {type, DType::f32, type}, bias);
    const auto desc = onednn::backward_weights(device.engine(), convolution);
    WorkspaceParts parts(b.workspace);
    Staging staging(type, parts);
    const BatchPlaces at =
        batch_places(o, shape, desc.scratchpad_desc().get_size(), parts, staging);
    onednn::Arguments arguments{
        {DNNL_ARG_SRC, device.memory(convolution.x, at.x)},
        {DNNL_ARG_DIFF_DST, device.memory(convolution.y, at.dy)},
        {DNNL_ARG_DIFF_WEIGHTS, device.memory(desc.diff_weights_desc(), b.outputs[0])},
        {DNNL_ARG_SCRATCHPAD, device.memory(desc.scratchpad_desc(), at.scratchpad)}};
    if (bias == Bias::present) {
      arguments.emplace(DNNL_ARG_DIFF_BIAS, device.memory(convolution.b, b.outputs[1]));
    }
    return std::move(staging).around(context.threads,
                                     device.kernel(dnnl::convolution_backward_weights(desc),
                                                   std::move(arguments), context.threads, name));
  });
}

}  // namespace lockstep::engine::cpu
