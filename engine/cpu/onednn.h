// oneDNN as the kernels use it: the one place where its versions 2.6 and 3 differ, and the wrapper
// that keeps a failed call's name.
//
// Memory descriptors speak of N, C, H, W (weights O, I, H, W) whatever the order of bytes. Every
// primitive gets attributes of its own, since copies of dnnl::primitive_attr share one state.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/error.h"
#include "engine/kernel.h"

namespace lockstep::engine::cpu::onednn {

using Arguments = std::unordered_map<int, dnnl::memory>;

// Runs `f`; a dnnl::error becomes an Error that says which call failed.
template <class F>
auto call(std::string_view name, F&& f) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN {}.{}.{}: {} failed: {} (status {})", DNNL_VERSION_MAJOR,
                            DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, name, error.what(),
                            static_cast<int>(error.status)));
  }
}

// The CPU as oneDNN's engine, and the layouts that its kernels asked for.
class Device {
 public:
  Device();

  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }
  [[nodiscard]] dnnl::memory memory(const dnnl::memory::desc& desc, const void* data) const;

  // The layout that `desc` is, canonical where it is plain row-major f32. Its text tells type,
  // extents, padded extents, strides and inner blocks, and leads back to `desc` by find(). `desc`
  // has its axes in the parameter's order.
  Layout layout(const dnnl::memory::desc& desc);
  // Throws Error where no kernel of this table asked for the layout.
  [[nodiscard]] const dnnl::memory::desc& find(const Layout& layout, std::string_view value) const;

  // A kernel that executes `primitive`. `name` is for messages.
  [[nodiscard]] Kernel kernel(const dnnl::primitive& primitive, Arguments arguments, int threads,
                              std::string name) const;

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<std::string, dnnl::memory::desc, std::less<>> layouts_;
};

[[nodiscard]] dnnl::memory::data_type type_of(DType type);  // f32 or bf16
[[nodiscard]] dnnl::memory::dims extents_of(const dnnl::memory::desc& desc);
// Row-major.
[[nodiscard]] dnnl::memory::desc plain(const dnnl::memory::dims& extents, DType type = DType::f32);
// Attributes that leave scratch memory to the caller.
[[nodiscard]] dnnl::primitive_attr caller_scratch();

struct Convolution {
  dnnl::memory::desc x, w, b, y;  // a zero `b`: no bias
  dnnl::memory::dims strides, pads;
};
// The forward pass of which `c` is a backward pass, as oneDNN wants it to be shown.
[[nodiscard]] Convolution forward_of(Convolution c);
struct Product {
  dnnl::memory::desc a, b, bias, y;  // y = a b + bias; a zero `bias`: none
};

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine,
                                                         const Convolution& c) {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          c.x,
          c.w,
          c.b,
          c.y,
          c.strides,
          c.pads,
          c.pads,
          caller_scratch()};
}
inline dnnl::convolution_backward_data::primitive_desc backward_data(const dnnl::engine& engine,
                                                                     const Convolution& c) {
  return {engine,
          dnnl::algorithm::convolution_direct,
          c.x,
          c.w,
          c.y,
          c.strides,
          c.pads,
          c.pads,
          forward(engine, forward_of(c)),
          caller_scratch()};
}
inline dnnl::convolution_backward_weights::primitive_desc backward_weights(
    const dnnl::engine& engine, const Convolution& c) {
  return {engine,
          dnnl::algorithm::convolution_direct,
          c.x,
          c.w,
          c.b,
          c.y,
          c.strides,
          c.pads,
          c.pads,
          forward(engine, forward_of(c)),
          caller_scratch()};
}
inline dnnl::matmul::primitive_desc product(const dnnl::engine& engine, const Product& p) {
  return {engine, p.a, p.b, p.bias, p.y, caller_scratch()};
}

#else

inline dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine,
                                                         const Convolution& c) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, c.x, c.w, c.b,
           c.y, c.strides, c.pads, c.pads},
          caller_scratch(),
          engine};
}
inline dnnl::convolution_backward_data::primitive_desc backward_data(const dnnl::engine& engine,
                                                                     const Convolution& c) {
  return {{dnnl::algorithm::convolution_direct, c.x, c.w, c.y, c.strides, c.pads, c.pads},
          caller_scratch(),
          engine,
          forward(engine, forward_of(c))};
}
inline dnnl::convolution_backward_weights::primitive_desc backward_weights(
    const dnnl::engine& engine, const Convolution& c) {
  return {{dnnl::algorithm::convolution_direct, c.x, c.w, c.b, c.y, c.strides, c.pads, c.pads},
          caller_scratch(),
          engine,
          forward(engine, forward_of(c))};
}
inline dnnl::matmul::primitive_desc product(const dnnl::engine& engine, const Product& p) {
  return {{p.a, p.b, p.bias, p.y}, caller_scratch(), engine};
}

#endif

}  // namespace lockstep::engine::cpu::onednn
