#include <algorithm>

#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {

void conv2d(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor &x = inputs[0], &w = inputs[1], &b = inputs[2];
  Tensor& y = outputs[0];
  const std::int64_t inputs_of_w = w.extent(1), kernel_h = w.extent(2), kernel_w = w.extent(3);
  const std::int64_t stride = attributes.integer("stride"), pad = attributes.integer("pad");
  for (std::int64_t n = 0; n < y.extent(0); ++n) {
    for (std::int64_t row = 0; row < y.extent(1); ++row) {
      for (std::int64_t column = 0; column < y.extent(2); ++column) {
        for (std::int64_t o = 0; o < y.extent(3); ++o) {
          double sum = b.absent() ? 0 : b[o];
          for (std::int64_t ky = 0; ky < kernel_h; ++ky) {
            for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
              const std::int64_t h = row * stride + ky - pad, v = column * stride + kx - pad;
              if (h < 0 || h >= x.extent(1) || v < 0 || v >= x.extent(2)) continue;
              const std::int64_t pixel = x.place(n, h, v, 0), tap = w.place(o, 0, ky, kx);
              for (std::int64_t i = 0; i < inputs_of_w; ++i) {
                sum += x[pixel + i] * w[tap + i * kernel_h * kernel_w];
              }
            }
          }
          y.at(n, row, column, o) = sum;
        }
      }
    }
  }
}

void linear(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor &x = inputs[0], &w = inputs[1], &b = inputs[2];
  Tensor& y = outputs[0];
  const bool in_out =
      attributes.has("weight_layout") && attributes.text("weight_layout") == "in_out";
  for (std::int64_t n = 0; n < y.extent(0); ++n) {
    for (std::int64_t o = 0; o < y.extent(1); ++o) {
      double sum = b.absent() ? 0 : b[o];
      for (std::int64_t k = 0; k < x.extent(1); ++k) {
        sum += x.at(n, k) * (in_out ? w.at(k, o) : w.at(o, k));
      }
      y.at(n, o) = attributes.integer_or("relu", 0) ? std::max(0.0, sum) : sum;
    }
  }
}

}  // namespace lockstep::engine::reference
