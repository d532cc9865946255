// Matrix products with weights as they lie in the parameters, in the three forms that training
// needs: x [rows, inputs], w [outputs, inputs], y [rows, outputs]. Linear layers use them, and
// convolutions of 1x1.
#pragma once

#include <cstdint>
#include <string>

#include "engine/cpu/families.h"

namespace lockstep::engine::cpu {

struct ProductShape {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
};
enum class Activation { none, relu };

// Bytes of workspace that any of the three needs for this shape.
std::size_t product_workspace(const Context& context, const ProductShape& shape);

struct ProductForward {
  ProductShape shape;
  Activation activation = Activation::none;
  const float* x = nullptr;
  const float* w = nullptr;
  const float* b = nullptr;  // may be absent
  float* y = nullptr;
};
// y = x w' + b. A NaN passes the activation.
Kernel product_forward(const Context& context, const ProductForward& product, std::byte* workspace,
                       const std::string& name);

struct ProductBackwardWeights {
  ProductShape shape;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dw = nullptr;
  float* db = nullptr;  // may be absent
};
// dw = dy' x, db = column sums of dy.
Kernel product_backward_weights(const Context& context, const ProductBackwardWeights& product,
                                std::byte* workspace, const std::string& name);

struct ProductBackwardData {
  ProductShape shape;
  const float* w = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
};
// dx = dy w.
Kernel product_backward_data(const Context& context, const ProductBackwardData& product,
                             std::byte* workspace, const std::string& name);

}  // namespace lockstep::engine::cpu
