#include "engine/cpu/small_convolution.h"

namespace lockstep::engine::cpu {

#ifdef __x86_64__

std::optional<std::size_t> small_forward_workspace(const Context& context,
                                                   const ConvolutionShape& shape) {
  if (context.isa != Isa::avx512) return {};
  if (pixel_lanes_fit(shape)) return pixel_lanes_workspace(shape);
  if (channel_lanes_fit(shape)) return channel_lanes_workspace(shape);
  return {};
}

std::optional<std::size_t> small_backward_weights_workspace(const Context& context,
                                                            const ConvolutionShape& shape) {
  if (context.isa != Isa::avx512) return {};
  if (pixel_lanes_fit(shape)) return pixel_lanes_backward_weights_workspace(shape);
  if (channel_lanes_fit(shape)) return channel_lanes_backward_weights_workspace(shape);
  return {};
}

std::optional<std::size_t> small_backward_data_workspace(const Context& context,
                                                         const ConvolutionShape& shape) {
  if (context.isa != Isa::avx512) return {};
  if (image_lanes_fit(shape)) return image_lanes_workspace(shape);
  return {};
}

Kernel small_forward(const Context& context, const SmallConvolution& convolution,
                     std::byte* workspace) {
  const bool pixels = pixel_lanes_fit(convolution.shape);
  return (pixels ? pixel_lanes : channel_lanes)(context, convolution, workspace);
}

Kernel small_backward_weights(const Context& context,
                              const SmallConvolutionBackwardWeights& convolution,
                              std::byte* workspace) {
  const bool pixels = pixel_lanes_fit(convolution.shape);
  return (pixels ? pixel_lanes_backward_weights : channel_lanes_backward_weights)(
      context, convolution, workspace);
}

Kernel small_backward_data(const Context& context, const SmallConvolutionBackwardData& convolution,
                           std::byte* workspace) {
  return image_lanes_backward_data(context, convolution, workspace);
}

#else

// Other machines have none of these kernels.
std::optional<std::size_t> small_forward_workspace(const Context&, const ConvolutionShape&) {
  return {};
}
std::optional<std::size_t> small_backward_weights_workspace(const Context&,
                                                            const ConvolutionShape&) {
  return {};
}
std::optional<std::size_t> small_backward_data_workspace(const Context&, const ConvolutionShape&) {
  return {};
}
Kernel small_forward(const Context&, const SmallConvolution&, std::byte*) {
  return {};
}
Kernel small_backward_weights(const Context&, const SmallConvolutionBackwardWeights&, std::byte*) {
  return {};
}
Kernel small_backward_data(const Context&, const SmallConvolutionBackwardData&, std::byte*) {
  return {};
}

#endif

}  // namespace lockstep::engine::cpu
