#include "engine/cpu/dropout.h"

#include <algorithm>

#include "engine/cpu/avx512.h"
#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int64_t kGroup = SampleRandom::kGroup;
constexpr std::int64_t kGroupsAPiece = 64;

template <class X, class Y>
LOCKSTEP_MULTIVERSION void multiply(const X* x, const float* factors, Y* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store(to_float(x[i]) * factors[i], y[i]);
}

LOCKSTEP_MULTIVERSION void drop_factors_plain(const DropGroup& group, float* factors) {
  const SampleRandom random = group.random;
  const DropRule rule = group.rule;
  const auto g = static_cast<std::uint32_t>(group.group);
#pragma GCC unroll 1
  for (std::uint32_t lane = 0; lane < 16; ++lane) {
    const auto words = random.block(g, lane);
    factors[lane] = words[0] < rule.threshold ? 0.0F : rule.scale;
    factors[lane + 16] = words[1] < rule.threshold ? 0.0F : rule.scale;
    factors[lane + 32] = words[2] < rule.threshold ? 0.0F : rule.scale;
    factors[lane + 48] = words[3] < rule.threshold ? 0.0F : rule.scale;
  }
}

template <class X, class Y>
Kernel bind_dropout(const Context& context, const Binding& b) {
  const std::int64_t samples = b.input(1).shape[0];
  return [threads = context.threads, isa = context.isa, samples,
          elements = b.output(0).shape.elements() / samples,
          rule = DropRule(b.node.attributes.real("probability")),
          stream = b.node.attributes.integer("stream"), x = b.in<X>(0),
          rows = b.in<std::int32_t>(1), state = b.in<StepState>(2), y = b.out<Y>(0)] {
    const std::int64_t groups = (elements + kGroup - 1) / kGroup;
    const std::int64_t pieces = (groups + kGroupsAPiece - 1) / kGroupsAPiece;
    for_pieces(threads, samples * pieces, [&](std::int64_t piece) {
      const std::int64_t n = piece / pieces, first = piece % pieces * kGroupsAPiece;
      const SampleRandom random(*state, stream, rows[n]);
      for (std::int64_t group = first; group < std::min(groups, first + kGroupsAPiece); ++group) {
        float factors[kGroup];
        drop_factors(isa, {random, rule, group}, factors);
        const std::int64_t at = n * elements + group * kGroup;
        multiply(x + at, factors, y + at, std::min(kGroup, elements - group * kGroup));
      }
    });
  };
}

}  // namespace

#ifdef __x86_64__
LOCKSTEP_AVX512_BEGIN
namespace {

struct Words {
  __m512i low, high;
};

// The two words of each lane's product. GCC makes 64-bit products of it, at several times the cost.
[[gnu::always_inline]] inline Words products(__m512i x, __m512i factor) {
  constexpr __mmask16 kOdd = 0xAAAA;
  const __m512i even = _mm512_mul_epu32(x, factor);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), factor);
  return {_mm512_mask_blend_epi32(kOdd, even, _mm512_slli_epi64(odd, 32)),
          _mm512_mask_blend_epi32(kOdd, _mm512_srli_epi64(even, 32), odd)};
}

[[gnu::always_inline]] inline __m512i all(std::uint32_t word) {
  return _mm512_set1_epi32(static_cast<int>(word));
}

// philox() of 16 blocks.
void drop_factors_avx512(const DropGroup& g, float* factors) {
  const SampleRandom& random = g.random;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i c[4] = {_mm512_add_epi32(all(static_cast<std::uint32_t>(g.group) * 16U), lanes),
                  all(random.row), all(random.step), all(random.stream)};
  std::uint32_t key0 = random.key0, key1 = random.key1;
#pragma GCC unroll 10
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Words a = products(c[0], all(kPhiloxFactor0)), b = products(c[2], all(kPhiloxFactor1));
    c[0] = _mm512_xor_epi32(_mm512_xor_epi32(b.high, c[1]), all(key0));
    c[1] = b.low;
    c[2] = _mm512_xor_epi32(_mm512_xor_epi32(a.high, c[3]), all(key1));
    c[3] = a.low;
    key0 += kPhiloxKey0;
    key1 += kPhiloxKey1;
  }
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) {
    const __mmask16 kept = _mm512_cmpge_epu32_mask(c[w], all(g.rule.threshold));
    _mm512_storeu_ps(factors + 16 * w, _mm512_maskz_mov_ps(kept, _mm512_set1_ps(g.rule.scale)));
  }
}

}  // namespace
LOCKSTEP_AVX512_END
#endif

void drop_factors([[maybe_unused]] Isa isa, const DropGroup& group, float* factors) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return drop_factors_avx512(group, factors);
#endif
  drop_factors_plain(group, factors);
}

Family dropout_kernels(const Context& context) {
  return {{.op = "dropout", .bind = [context](const Binding& b) {
             return with_element_types(
                 [&]<class X, class Y>() { return bind_dropout<X, Y>(context, b); },
                 b.input(0).dtype, b.output(0).dtype);
           }}};
}

}  // namespace lockstep::engine::cpu
