#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/engine/reference/reference.h"

namespace lockstep::engine::reference {

void relu(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  std::transform(inputs[0].values.begin(), inputs[0].values.end(), outputs[0].values.begin(),
                 [](double v) { return std::max(0.0, v); });
}

void add(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  std::transform(inputs[0].values.begin(), inputs[0].values.end(), inputs[1].values.begin(),
                 outputs[0].values.begin(), std::plus<>());
}

void copy(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  outputs[0].values = inputs[0].values;
}

void flatten(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const Tensor& x = inputs[0];
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < x.extent(0); ++n) {
    for (std::int64_t c = 0; c < x.extent(3); ++c) {
      for (std::int64_t h = 0; h < x.extent(1); ++h) {
        for (std::int64_t v = 0; v < x.extent(2); ++v) outputs[0][to++] = x.at(n, h, v, c);
      }
    }
  }
}

void max_pool(const Attributes& attributes, const Tensors& inputs, Tensors& outputs) {
  const Tensor& x = inputs[0];
  Tensor &y = outputs[0], &index = outputs[1];
  const std::int64_t size = attributes.integer("size"), stride = attributes.integer("stride"),
                     pad = attributes.integer_or("pad", 0);
  for (std::int64_t n = 0; n < y.extent(0); ++n) {
    for (std::int64_t row = 0; row < y.extent(1); ++row) {
      for (std::int64_t column = 0; column < y.extent(2); ++column) {
        for (std::int64_t c = 0; c < y.extent(3); ++c) {
          double best = -std::numeric_limits<double>::infinity();
          double place = -1;
          for (std::int64_t i = 0; i < size * size; ++i) {
            const std::int64_t h = row * stride - pad + i / size;
            const std::int64_t w = column * stride - pad + i % size;
            if (h < 0 || w < 0 || h >= x.extent(1) || w >= x.extent(2)) continue;
            const double v = x.at(n, h, w, c);
            if (place < 0 || v > best || (std::isnan(v) && !std::isnan(best))) {
              best = v;
              place = static_cast<double>(i);
            }
          }
          if (attributes.integer_or("relu", 0) && best <= 0) {
            best = 0;
            place = 255;
          }
          y.at(n, row, column, c) = best;
          index.at(n, row, column, c) = place;
        }
      }
    }
  }
}

void average_pool(const Attributes&, const Tensors& inputs, Tensors& outputs) {
  const Tensor& x = inputs[0];
  const double pixels = static_cast<double>(x.extent(1) * x.extent(2));
  for (std::int64_t n = 0; n < x.extent(0); ++n) {
    for (std::int64_t c = 0; c < x.extent(3); ++c) {
      double sum = 0;
      for (std::int64_t h = 0; h < x.extent(1); ++h) {
        for (std::int64_t v = 0; v < x.extent(2); ++v) sum += x.at(n, h, v, c);
      }
      outputs[0].at(n, c) = sum / pixels;
    }
  }
}

}  // namespace lockstep::engine::reference
