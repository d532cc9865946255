// Direct convolutions with few channels, where oneDNN leaves most of a register's lanes empty. All
// have stride 1, square kernels and weights as they lie in the parameters; hand-written in AVX-512.
//
// Images are split in pieces fixed by the shape. Each kernel has its own file and its own
// conditions:
// ..._fit() tells whether it takes the shape, ..._workspace() how many bytes it needs. The
// small_... functions choose among them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/cpu/convolution_shape.h"
#include "engine/cpu/families.h"

namespace lockstep::engine::cpu {

struct SmallConvolution {
  ConvolutionShape shape;
  const float* x = nullptr;
  const float* w = nullptr;
  const float* b = nullptr;  // may be absent
  float* y = nullptr;
};
struct SmallConvolutionBackwardWeights {
  ConvolutionShape shape;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dw = nullptr;
  float* db = nullptr;  // may be absent
};
struct SmallConvolutionBackwardData {
  ConvolutionShape shape;
  const float* w = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
};

// Bytes of workspace, or nothing where no kernel here takes the shape.
[[nodiscard]] std::optional<std::size_t> small_forward_workspace(const Context& context,
                                                                 const ConvolutionShape& shape);
[[nodiscard]] std::optional<std::size_t> small_backward_weights_workspace(
    const Context& context, const ConvolutionShape& shape);
[[nodiscard]] std::optional<std::size_t> small_backward_data_workspace(
    const Context& context, const ConvolutionShape& shape);

// REQUIRES: the pass has a workspace for the shape.
[[nodiscard]] Kernel small_forward(const Context& context, const SmallConvolution& convolution,
                                   std::byte* workspace);
[[nodiscard]] Kernel small_backward_weights(const Context& context,
                                            const SmallConvolutionBackwardWeights& convolution,
                                            std::byte* workspace);
[[nodiscard]] Kernel small_backward_data(const Context& context,
                                         const SmallConvolutionBackwardData& convolution,
                                         std::byte* workspace);

// --- The kernels; x86-64 only.

// 1 to 4 channels to 6: lanes are pixels.
[[nodiscard]] bool pixel_lanes_fit(const ConvolutionShape& shape);
[[nodiscard]] std::size_t pixel_lanes_workspace(const ConvolutionShape& shape);
[[nodiscard]] Kernel pixel_lanes(const Context& context, const SmallConvolution& convolution,
                                 std::byte* workspace);

[[nodiscard]] std::size_t pixel_lanes_backward_weights_workspace(const ConvolutionShape& shape);
[[nodiscard]] Kernel pixel_lanes_backward_weights(
    const Context& context, const SmallConvolutionBackwardWeights& convolution,
    std::byte* workspace);

// 1, 3 or 6 channels to 16: lanes are output channels.
[[nodiscard]] bool channel_lanes_fit(const ConvolutionShape& shape);
[[nodiscard]] std::size_t channel_lanes_workspace(const ConvolutionShape& shape);
[[nodiscard]] Kernel channel_lanes(const Context& context, const SmallConvolution& convolution,
                                   std::byte* workspace);

[[nodiscard]] std::size_t channel_lanes_backward_weights_workspace(const ConvolutionShape& shape);
[[nodiscard]] Kernel channel_lanes_backward_weights(
    const Context& context, const SmallConvolutionBackwardWeights& convolution,
    std::byte* workspace);

// Gradient of at most 6 channels, 16 images and more: lanes are images.
[[nodiscard]] bool image_lanes_fit(const ConvolutionShape& shape);
[[nodiscard]] std::size_t image_lanes_workspace(const ConvolutionShape& shape);
[[nodiscard]] Kernel image_lanes_backward_data(const Context& context,
                                               const SmallConvolutionBackwardData& convolution,
                                               std::byte* workspace);

// --- What they share.

// Images are worked on in at most this many pieces, each with scratch and sums of its own.
inline constexpr std::int64_t kMostImagePieces = 8;
[[nodiscard]] inline std::int64_t image_pieces(const ConvolutionShape& s) {
  return std::min(kMostImagePieces, s.images);
}
struct ImageRange {
  std::int64_t begin, end;
};
[[nodiscard]] inline ImageRange images_of_piece(const ConvolutionShape& s, std::int64_t piece) {
  const std::int64_t pieces = image_pieces(s);
  return {piece * s.images / pieces, (piece + 1) * s.images / pieces};
}

// Stride 1 and a square kernel of 3 or 5, padded by less than itself.
[[nodiscard]] inline bool is_small_square(const ConvolutionShape& s) {
  return s.stride == 1 && s.kernel_h == s.kernel_w && (s.kernel_h == 3 || s.kernel_h == 5) &&
         s.pad < s.kernel_h;
}

}  // namespace lockstep::engine::cpu
