#include "engine/cpu/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/cpu/families.h"
#include "engine/cpu/multiversion.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

// The rule, and what is the same for all elements worked out.
struct Coefficients {
  float clip, decay, rate;
  float momentum, lookahead;  // sgd: w -= rate * (direct * d + lookahead * m)
  float direct;
  float beta1, beta2;
  float rest1, rest2;  // 1 - beta, not rounded before the subtraction
  float epsilon;
  float correction1, correction2;  // adamw: 1 / (1 - beta^t), for m and for v
};

constexpr std::size_t kPrefetchAhead = 256;  // elements

LOCKSTEP_MULTIVERSION void sgd(const Coefficients& k, float* __restrict w,
                               const float* __restrict g, float* __restrict m, std::size_t count) {
  constexpr std::size_t kLine = 16;  // elements of a cache line
  std::size_t i = 0;
  for (; i + kLine <= count; i += kLine) {
    __builtin_prefetch(w + i + kPrefetchAhead, 1);
    __builtin_prefetch(m + i + kPrefetchAhead, 1);
    __builtin_prefetch(g + i + kPrefetchAhead);
    for (std::size_t j = i; j < i + kLine; ++j) {
      const float d = k.clip * g[j] + k.decay * w[j];
      const float moment = k.momentum * m[j] + d;
      m[j] = moment;
      w[j] -= k.rate * (k.direct * d + k.lookahead * moment);
    }
  }
  for (; i < count; ++i) {
    const float d = k.clip * g[i] + k.decay * w[i];
    const float moment = k.momentum * m[i] + d;
    m[i] = moment;
    w[i] -= k.rate * (k.direct * d + k.lookahead * moment);
  }
}

LOCKSTEP_MULTIVERSION void adamw(const Coefficients& k, const UpdateRange& range) {
  float* __restrict w = range.weight;
  const float* __restrict g = range.gradient;
  float* __restrict m = range.state0;
  float* __restrict v = range.state1;
  for (std::size_t i = 0; i < range.count; ++i) {
    const float d = k.clip * g[i];
    const float moment = k.beta1 * m[i] + k.rest1 * d;
    const float square = k.beta2 * v[i] + k.rest2 * (d * d);
    m[i] = moment;
    v[i] = square;
    const float decayed = w[i] - k.rate * k.decay * w[i];
    w[i] = decayed -
           k.rate * (moment * k.correction1) / (std::sqrt(square * k.correction2) + k.epsilon);
  }
}

// Sum of squares of at most kPiece elements, in sixteen interleaved sums.
LOCKSTEP_MULTIVERSION double squared_norm(const float* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

struct Piece {
  const float* begin;
  std::int64_t count;
};

Kernel bind_clip_scale(const Context& context, const Binding& b) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) {
    const std::int64_t count = b.input(i).shape.elements();
    for (std::int64_t at = 0; at < count; at += kPiece) {
      pieces.push_back({b.in<float>(i) + at, std::min(kPiece, count - at)});
    }
  }
  return [context, pieces, sums = std::vector<double>(pieces.size()), late = b.out<double>(0),
          clip = b.node.attributes.real("clip_norm")]() mutable {
    for_pieces(context.threads, static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
      const Piece& piece = pieces[static_cast<std::size_t>(i)];
      sums[static_cast<std::size_t>(i)] = squared_norm(piece.begin, piece.count);
    });
    late[0] = std::accumulate(sums.begin(), sums.end(), 0.0);
    late[1] = std::min(1.0, clip / (std::sqrt(late[0]) + 1e-6));
  };
}

// Inputs: w, dw, states, step state, early, late; the states are written in place.
template <int States>
Kernel bind_update(const Context& context, const Binding& b) {
  constexpr std::size_t kState = 2 + States;
  const UpdateWords words{.state = b.in<StepState>(kState),
                          .early = b.in<double>(kState + 1),
                          .late = b.in<double>(kState + 2)};
  const UpdateRange all{.weight = b.out<float>(0),
                        .gradient = b.in<float>(1),
                        .state0 = b.out<float>(1),
                        .state1 = States > 1 ? b.out<float>(States) : nullptr,
                        .count = static_cast<std::size_t>(b.output(0).shape.elements())};
  const UpdateRule rule = update_rule(b.node.op, b.node.attributes);
  return [context, rule, words, all] {
    for_ranges(context.threads, static_cast<std::int64_t>(all.count), kPiece,
               [&](std::int64_t begin, std::int64_t end) {
                 update_range(rule, words,
                              {.weight = all.weight + begin,
                               .gradient = all.gradient + begin,
                               .state0 = all.state0 + begin,
                               .state1 = all.state1 ? all.state1 + begin : nullptr,
                               .count = static_cast<std::size_t>(end - begin)});
               });
  };
}

float correction(double beta, std::uint64_t steps) {
  return static_cast<float>(1.0 / (1.0 - std::pow(beta, static_cast<double>(steps))));
}

}  // namespace

UpdateRule update_rule(const std::string& op, const Attributes& attributes) {
  auto real = [&](std::string_view name) { return attributes.real(name); };
  if (op == "sgd") {
    return {.kind = UpdateRule::Kind::sgd,
            .momentum = real("momentum"),
            .nesterov = attributes.integer("nesterov") != 0,
            .weight_decay = real("weight_decay")};
  }
  return {.kind = UpdateRule::Kind::adamw,
          .beta1 = real("beta1"),
          .beta2 = real("beta2"),
          .epsilon = real("epsilon"),
          .weight_decay = real("weight_decay")};
}

void update_range(const UpdateRule& rule, const UpdateWords& words, const UpdateRange& range) {
  if (words.early[3] != 0) return;
  const StepState& state = *words.state;
  Coefficients k{.clip = words.late ? static_cast<float>(words.late[1]) : 1.0F,
                 .decay = static_cast<float>(rule.weight_decay),
                 .rate = state.learning_rate,
                 .momentum = static_cast<float>(rule.momentum),
                 .lookahead = rule.nesterov ? static_cast<float>(rule.momentum) : 1.0F,
                 .direct = rule.nesterov ? 1.0F : 0.0F,
                 .beta1 = static_cast<float>(rule.beta1),
                 .beta2 = static_cast<float>(rule.beta2),
                 .rest1 = static_cast<float>(1 - rule.beta1),
                 .rest2 = static_cast<float>(1 - rule.beta2),
                 .epsilon = static_cast<float>(rule.epsilon)};
  if (rule.kind == UpdateRule::Kind::sgd) {
    sgd(k, range.weight, range.gradient, range.state0, range.count);
  } else {
    k.correction1 = correction(rule.beta1, state.applied + 1);
    k.correction2 = correction(rule.beta2, state.applied + 1);
    adamw(k, range);
  }
}

Family optimizer_kernels(const Context& context) {
  auto with = [&context](auto bind) {
    return [context, bind](const Binding& binding) { return bind(context, binding); };
  };
  return {{.op = "sgd", .bind = with(bind_update<1>)},
          {.op = "adamw", .bind = with(bind_update<2>)},
          {.op = "clip_scale", .bind = with(bind_clip_scale)}};
}

}  // namespace lockstep::engine::cpu
