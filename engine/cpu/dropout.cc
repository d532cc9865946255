#include "engine/cpu/dropout.h"

#include <algorithm>

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

template <class X, class Y>
Kernel bind_dropout(const Context& context, const Binding& b) {
  const std::int64_t samples = b.input(1).shape[0];
  return [threads = context.threads, samples, elements = b.output(0).shape.elements() / samples,
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
        drop_factors(random, rule, group, factors);
        const std::int64_t at = n * elements + group * kGroup;
        multiply(x + at, factors, y + at, std::min(kGroup, elements - group * kGroup));
      }
    });
  };
}

}  // namespace

LOCKSTEP_MULTIVERSION void drop_factors(const SampleRandom& random, const DropRule& rule,
                                        std::int64_t group, float* factors) {
  const SampleRandom r = random;
  const DropRule d = rule;
  const auto g = static_cast<std::uint32_t>(group);
#pragma GCC unroll 1
  for (std::uint32_t lane = 0; lane < 16; ++lane) {
    const auto words = r.block(g, lane);
    factors[lane] = words[0] < d.threshold ? 0.0F : d.scale;
    factors[lane + 16] = words[1] < d.threshold ? 0.0F : d.scale;
    factors[lane + 32] = words[2] < d.threshold ? 0.0F : d.scale;
    factors[lane + 48] = words[3] < d.threshold ? 0.0F : d.scale;
  }
}

Family dropout_kernels(const Context& context) {
  return {{.op = "dropout", .bind = [context](const Binding& b) {
             return with_element_types(
                 [&]<class X, class Y>() { return bind_dropout<X, Y>(context, b); },
                 b.input(0).dtype, b.output(0).dtype);
           }}};
}

}  // namespace lockstep::engine::cpu
