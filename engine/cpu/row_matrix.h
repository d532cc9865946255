// Matrices as activations hold them: rows of contiguous elements, which may be some of an image's
// pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/cpu/convert.h"

namespace lockstep::engine::cpu {

// Where rows lie, in elements: `per_line` of them side by side, `per_image` of them in an image.
struct RowPlaces {
  std::int64_t stride = 0;
  std::int64_t per_line = std::numeric_limits<std::int64_t>::max();
  std::int64_t per_image = std::numeric_limits<std::int64_t>::max();
  std::int64_t line_stride = 0;
  std::int64_t image_stride = 0;
  [[nodiscard]] std::int64_t of(std::int64_t row) const {
    if (row < per_line) return row * stride;
    return row / per_image * image_stride + row % per_image / per_line * line_stride +
           row % per_image % per_line * stride;
  }
};

// Rows of contiguous elements, f32 or bf16.
struct RowMatrix {
  std::byte* data = nullptr;
  DType type = DType::f32;
  RowPlaces rows;
  // Whether its rows of `columns` elements lie one after the other.
  [[nodiscard]] bool dense(std::int64_t columns) const {
    return rows.stride == columns && rows.per_line == RowPlaces{}.per_line;
  }
  [[nodiscard]] std::byte* row(std::int64_t r) const {
    return data + rows.of(r) * static_cast<std::int64_t>(size_of(type));
  }
};

// The matrix of `columns` columns that an operand is.
[[nodiscard]] inline RowMatrix dense_rows(const StoredArray& operand, std::int64_t columns) {
  return {.data = operand.data, .type = operand.type, .rows = {.stride = columns}};
}

}  // namespace lockstep::engine::cpu
