#include "engine/cpu/onednn.h"

#include <fmt/ranges.h>

#include <vector>

#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu::onednn {
namespace {

// What tells one arrangement from another.
struct Arrangement {
  dnnl::memory::data_type type;
  std::vector<std::int64_t> extents, padded, strides, blocks, block_axes;
};

Arrangement arrangement(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_data_type(), desc.get_dims(),       desc.get_padded_dims(),
          desc.get_strides(),   desc.get_inner_blks(), desc.get_inner_idxs()};
#else
  const auto& md = desc.data;
  const auto& blocking = md.format_desc.blocking;
  return {desc.data_type(),
          {md.dims, md.dims + md.ndims},
          {md.padded_dims, md.padded_dims + md.ndims},
          {blocking.strides, blocking.strides + md.ndims},
          {blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks},
          {blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks}};
#endif
}

std::string text_of(const dnnl::memory::desc& desc) {
  const Arrangement a = arrangement(desc);
  std::string text = a.type == dnnl::memory::data_type::bf16 ? "bf16 " : "";
  text += fmt::format("{} padded {} strides {}", fmt::join(a.extents, "x"),
                      fmt::join(a.padded, "x"), fmt::join(a.strides, ","));
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    text += fmt::format("{}{}:{}", i ? "," : " blocks ", a.block_axes[i], a.blocks[i]);
  }
  return text;
}

}  // namespace

Device::Device() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

dnnl::memory Device::memory(const dnnl::memory::desc& desc, const void* data) const {
  return dnnl::memory(desc, engine_, const_cast<void*>(data));
}

Layout Device::layout(const dnnl::memory::desc& desc) {
  const Arrangement a = arrangement(desc);
  if (desc == plain(a.extents)) return {};
  const bool low = a.type == dnnl::memory::data_type::bf16;
  Layout layout{
      .text = text_of(desc), .bytes = desc.get_size(), .dtype = low ? DType::bf16 : DType::f32};
  layouts_.emplace(layout.text, desc);
  return layout;
}

const dnnl::memory::desc& Device::find(const Layout& layout, std::string_view value) const {
  auto it = layouts_.find(layout.text);
  if (it == layouts_.end()) {
    throw Error(fmt::format(
        "\"{}\" has layout \"{}\", which none of this device's kernels asked for; bind with the "
        "table that the layout pass was given",
        value, layout.text));
  }
  return it->second;
}

Kernel Device::kernel(const dnnl::primitive& primitive, Arguments arguments, int threads,
                      std::string name) const {
  return [stream = stream_, primitive, arguments = std::move(arguments), threads,
          name = std::move(name)]() mutable {
    use_threads(threads);
    call(name, [&] {
      primitive.execute(stream, arguments);
      stream.wait();
    });
  };
}

dnnl::memory::data_type type_of(DType type) {
  return type == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::dims extents_of(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

dnnl::memory::desc plain(const dnnl::memory::dims& extents, DType type) {
  dnnl::memory::dims strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return {extents, type_of(type), strides};
}

// A gradient may be f32 where what it is the gradient of is as low as y.
Convolution forward_of(Convolution c) {
  const auto type = arrangement(c.y).type;
  c.x = {arrangement(c.x).extents, type, arrangement(c.x).strides};
  c.w = {extents_of(c.w), type, dnnl::memory::format_tag::any};
  return c;
}

dnnl::primitive_attr caller_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace lockstep::engine::cpu::onednn
