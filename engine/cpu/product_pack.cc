#include <algorithm>
#include <cstring>

#include "engine/bfloat16.h"
#include "engine/cpu/avx512.h"
#include "engine/cpu/product_panels.h"

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace lockstep::engine::cpu {
namespace {

using avx512::first_lanes;
using avx512::kLanes;

inline __m512 load(const float* from, __mmask16 lanes) {
  return _mm512_maskz_loadu_ps(lanes, from);
}
inline __m512 load(const BFloat16* from, __mmask16 lanes) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

template <class T>
void copy(const T* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm512_storeu_ps(to + i, load(from + i, 0xFFFF));
  if (i < count) {
    const __mmask16 lanes = first_lanes(count - i);
    _mm512_mask_storeu_ps(to + i, lanes, load(from + i, lanes));
  }
}

template <class T>
const T* row_of(const RowMatrix& matrix, std::int64_t row) {
  return reinterpret_cast<const T*>(matrix.row(row));
}

template <class T>
void pack_rows(const RowMatrix& a, Extent rows, Extent passed, float* to) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    float* row = to + r / kTileRows * kStripFloats + r % kTileRows * kStripRow;
    copy(row_of<T>(a, rows.begin + r) + passed.begin, passed.count, row);
  }
}

template <class T>
void pack_columns(const RowMatrix& a, Extent rows, Extent passed, float* to) {
  for (std::int64_t k = 0; k < passed.count; ++k) {
    const T* from = row_of<T>(a, passed.begin + k) + rows.begin;
    float* row = to + k * kTileRows;
    for (std::int64_t r = 0; r < rows.count; r += kTileRows, row += kStripFloats) {
      const __mmask16 lanes = first_lanes(std::min(kTileRows, rows.count - r));
      _mm512_mask_storeu_ps(row, 0x0FFF, load(from + r, lanes));
    }
  }
}

template <class T>
void pack_panel_rows(const RowMatrix& b, Extent columns, Extent passed, float* to) {
  for (std::int64_t k = 0; k < passed.count; ++k) {
    const T* from = row_of<T>(b, passed.begin + k) + columns.begin;
    float* row = to + k * kTileColumns;
    for (std::int64_t c = 0; c < columns.count; c += kTileColumns) {
      const std::int64_t left = columns.count - c;
      _mm512_storeu_ps(row, load(from + c, first_lanes(left)));
      _mm512_storeu_ps(row + kLanes, load(from + c + kLanes, first_lanes(left - kLanes)));
      row += panel_floats(passed.count);
    }
  }
}

// Half a panel at a time: 16 columns, which are rows of what is stored.
void pack_panel_columns(const RowMatrix& b, Extent columns, Extent passed, float* to) {
  const std::int64_t all = (columns.count + kTileColumns - 1) / kTileColumns * kTileColumns;
  for (std::int64_t c = 0; c < all; c += kLanes) {
    float* panel = to + c / kTileColumns * panel_floats(passed.count) + c % kTileColumns;
    const std::int64_t count = std::clamp<std::int64_t>(columns.count - c, 0, kLanes);
    const float* from = count > 0 ? row_of<float>(b, columns.begin + c) + passed.begin : nullptr;
    for (std::int64_t k = 0; k < passed.count; k += kLanes) {
      const avx512::Block block{.rows = count,
                                .columns = std::min(kLanes, passed.count - k),
                                .from_stride = b.rows.stride,
                                .to_stride = kTileColumns};
      avx512::transpose_block(count > 0 ? from + k : nullptr, panel + k * kTileColumns, block,
                              0xFFFF);
    }
  }
}

}  // namespace

void pack_strips(const MatrixProduct& product, Extent rows, Extent passed, float* to) {
  const bool low = product.a.type == DType::bf16;
  if (product.a_stored == Stored::as_is) {
    (low ? pack_rows<BFloat16> : pack_rows<float>)(product.a, rows, passed, to);
  } else {
    (low ? pack_columns<BFloat16> : pack_columns<float>)(product.a, rows, passed, to);
  }
}

void pack_panels(const MatrixProduct& product, Extent columns, Extent passed, float* to) {
  if (product.b_stored == Stored::transposed) {
    return pack_panel_columns(product.b, columns, passed, to);
  }
  const bool low = product.b.type == DType::bf16;
  (low ? pack_panel_rows<BFloat16> : pack_panel_rows<float>)(product.b, columns, passed, to);
}

}  // namespace lockstep::engine::cpu
LOCKSTEP_AVX512_END
#endif
