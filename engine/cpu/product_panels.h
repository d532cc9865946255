// The panels of packed_product.h and what is done with them.
//
// A strip is kTileRows rows of a, over the k of one pass; its elements lie row by row (kStripRow
// floats each) where a is stored as it is, and k by k where it is transposed. A panel is
// kTileColumns columns of b, k by k. Strips and panels that are not full end in zeros.
#pragma once

#include <cstdint>

#include "engine/cpu/packed_product.h"

namespace lockstep::engine::cpu {

inline constexpr std::int64_t kTileRows = 12;
inline constexpr std::int64_t kTileColumns = 32;
inline constexpr std::int64_t kMostPassed = 512;  // k of a pass
inline constexpr std::int64_t kStripRow =
    kMostPassed + 16;  // no power of 2: rows share no cache set
inline constexpr std::int64_t kStripFloats = kTileRows * kStripRow;
// Two panels' rows do not share a cache set either.
[[nodiscard]] inline std::int64_t panel_floats(std::int64_t passed) {
  return (passed + 1) * kTileColumns;
}

struct Extent {
  std::int64_t begin, count;
};

// Packs `rows` of a's rows into strips from `to` on, `passed` of k.
void pack_strips(const MatrixProduct& product, Extent rows, Extent passed, float* to);
// Packs `columns` of b's columns into panels from `to` on.
void pack_panels(const MatrixProduct& product, Extent columns, Extent passed, float* to);

// A tile of y: at most kTileRows by kTileColumns, summed over one pass.
struct ProductTile {
  const float* strip;
  const float* panel;
  std::int64_t passed;
  std::int64_t rows, columns;
  const float* before = nullptr;  // sums of the passes before; null in the first one
  float* after = nullptr;         // where sums go; null in the last one, which writes y
  std::int64_t sums_stride = 0;
  std::int64_t y_row = 0, y_column = 0;
  // What is read next, fetched meanwhile: `ahead_step` bytes for each k.
  const std::byte* ahead = nullptr;
  std::int64_t ahead_step = 0;
};
void multiply_tile(const MatrixProduct& product, const ProductTile& tile);

}  // namespace lockstep::engine::cpu
