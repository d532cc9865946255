// Values of a node in double precision, whatever their type in the graph; bytes and labels too.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/shape.h"

namespace lockstep::engine::reference {

struct Tensor {
  Shape shape;
  std::vector<double> values;

  Tensor() = default;
  explicit Tensor(Shape extents)
      : shape(std::move(extents)), values(static_cast<std::size_t>(shape.elements())) {}

  [[nodiscard]] std::int64_t extent(std::size_t axis) const { return shape[axis]; }
  [[nodiscard]] bool absent() const { return values.empty(); }

  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }

  // Element of a matrix, and of a value of four extents.
  double& at(std::int64_t i, std::int64_t j) { return (*this)[i * shape[1] + j]; }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return (*this)[i * shape[1] + j];
  }
  [[nodiscard]] std::int64_t place(std::int64_t i, std::int64_t j, std::int64_t k,
                                   std::int64_t l) const {
    return ((i * shape[1] + j) * shape[2] + k) * shape[3] + l;
  }
  double& at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    return (*this)[place(i, j, k, l)];
  }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return (*this)[place(i, j, k, l)];
  }
};

using Tensors = std::vector<Tensor>;

}  // namespace lockstep::engine::reference
