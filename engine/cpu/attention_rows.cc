#include "engine/cpu/attention_rows.h"

#include <algorithm>
#include <limits>

#include "engine/cpu/avx512.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/vector_math.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kBlock = kAttentionBlock, kLanes = 16;

LOCKSTEP_MULTIVERSION void softmax_plain(const ScoreRows& rows, const RunningSoftmax& softmax) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float* s = rows.scores + r * kBlock;
    const std::int64_t seen = rows.seen_by(r);
    float peak = softmax.peak[r];
    for (std::int64_t c = 0; c < seen; ++c) peak = s[c] > peak ? s[c] : peak;
    float sum = 0;
    for (std::int64_t c = 0; c < seen; ++c) s[c] = exp_of(s[c] - peak);
    for (std::int64_t c = 0; c < seen; ++c) sum += s[c];
    for (std::int64_t c = seen; c < kBlock; ++c) s[c] = 0;
    softmax.rescale[r] = exp_of(softmax.peak[r] - peak);
    softmax.sum[r] = softmax.sum[r] * softmax.rescale[r] + sum;
    softmax.peak[r] = peak;
  }
}

template <class T>
LOCKSTEP_MULTIVERSION void pack(const HeadRows& from, float scale, const Panel& to) {
  const T* rows = from.matrix.as<T>() + from.first;
  for (std::int64_t r = 0; r < from.rows; ++r) {
    float* row = to.at + r * to.padded_width;
    for (std::int64_t c = 0; c < from.width; ++c) {
      row[c] = scale * to_float(rows[r * from.stride + c]);
    }
    for (std::int64_t c = from.width; c < to.padded_width; ++c) row[c] = 0;
  }
  for (std::int64_t i = from.rows * to.padded_width; i < to.padded_rows * to.padded_width; ++i) {
    to.at[i] = 0;
  }
}

template <class T>
LOCKSTEP_MULTIVERSION void unpack(const Panel& from, float scale, const HeadRows& to) {
  T* rows = to.matrix.as<T>() + to.first;
  for (std::int64_t r = 0; r < to.rows; ++r) {
    const float* row = from.at + r * from.padded_width;
    for (std::int64_t c = 0; c < to.width; ++c) store(scale * row[c], rows[r * to.stride + c]);
  }
}

}  // namespace

LOCKSTEP_MULTIVERSION void scale_rows(float* x, const float* factor, std::int64_t rows,
                                      std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float f = factor[r];
    for (std::int64_t c = 0; c < columns; ++c) x[r * columns + c] *= f;
  }
}

LOCKSTEP_MULTIVERSION void gradient_row(const GradientRow& row) {
  float* __restrict scores = row.scores;
  float* __restrict gradients = row.gradients;
  const float* __restrict factors = row.factors;
  const float lse = row.lse, delta = row.delta;
  const auto seen = static_cast<std::int32_t>(row.seen);
  const auto columns = static_cast<std::int32_t>(row.columns);
  for (std::int32_t begin = 0; begin < columns; begin += kLanes) {
    if (factors) {
#pragma GCC unroll 1
      for (std::int32_t c = begin; c < begin + kLanes; ++c) {
        const float exponential = exp_of(scores[c] - lse);
        const float p = c < seen ? exponential : 0.0F;
        scores[c] = p * factors[c];
        gradients[c] = p * (gradients[c] * factors[c] - delta);
      }
    } else {
#pragma GCC unroll 1
      for (std::int32_t c = begin; c < begin + kLanes; ++c) {
        const float exponential = exp_of(scores[c] - lse);
        const float p = c < seen ? exponential : 0.0F;
        scores[c] = p;
        gradients[c] = p * (gradients[c] - delta);
      }
    }
  }
}

void pack_rows(const HeadRows& from, float scale, const Panel& to) {
  return from.matrix.type() == DType::bf16 ? pack<BFloat16>(from, scale, to)
                                           : pack<float>(from, scale, to);
}

void unpack_rows(const Panel& from, float scale, const HeadRows& to) {
  return to.matrix.type() == DType::bf16 ? unpack<BFloat16>(from, scale, to)
                                         : unpack<float>(from, scale, to);
}

LOCKSTEP_MULTIVERSION void row_dots(const Panel& a, const float* b, std::int64_t rows,
                                    float* dots) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float lanes[kLanes] = {};
    for (std::int64_t c = r * a.padded_width; c < (r + 1) * a.padded_width; c += kLanes) {
#pragma GCC unroll 1
      for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] += a.at[c + l] * b[c + l];
    }
    float sum = 0;
    for (float lane : lanes) sum += lane;
    dots[r] = sum;
  }
}

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace {

void softmax_avx512(const ScoreRows& rows, const RunningSoftmax& softmax) {
  constexpr int kVectors = kBlock / kLanes;
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float* s = rows.scores + r * kBlock;
    const std::int64_t seen = rows.seen_by(r);
    __mmask16 masks[kVectors];
    __m512 x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      masks[v] = avx512::first_lanes(seen - v * kLanes);
      x[v] = _mm512_mask_loadu_ps(lowest, masks[v], s + v * kLanes);
    }
    const float largest =
        _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(x[0], x[1]), _mm512_max_ps(x[2], x[3])));
    const float peak = std::max(softmax.peak[r], largest);
    const __m512 peaks = _mm512_set1_ps(peak);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      x[v] = _mm512_maskz_mov_ps(masks[v], avx512::exp_of(_mm512_sub_ps(x[v], peaks)));
      _mm512_storeu_ps(s + v * kLanes, x[v]);
    }
    const float sum =
        _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(x[0], x[1]), _mm512_add_ps(x[2], x[3])));
    softmax.rescale[r] = exp_of(softmax.peak[r] - peak);
    softmax.sum[r] = softmax.sum[r] * softmax.rescale[r] + sum;
    softmax.peak[r] = peak;
  }
}

}  // namespace
LOCKSTEP_AVX512_END
#endif

void softmax_rows([[maybe_unused]] Isa isa, const ScoreRows& rows, const RunningSoftmax& softmax) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return softmax_avx512(rows, softmax);
#endif
  softmax_plain(rows, softmax);
}

}  // namespace lockstep::engine::cpu
