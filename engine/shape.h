// The extents of a value, outermost first. Activations are N, H, W, C; convolution weights O, I, H,
// W; matrices rows, columns; a scalar has no extents.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "engine/device/visibility.h"

namespace lockstep::engine {

class LOCKSTEP_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  [[nodiscard]] std::size_t rank() const { return extents_.size(); }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return extents_.at(axis); }
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }

  // Product of the extents; 1 for a scalar.
  [[nodiscard]] std::int64_t elements() const;

  // "64x28x28x6", "scalar".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> extents_;
};

}  // namespace lockstep::engine
