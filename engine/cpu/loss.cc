// Softmax and cross-entropy. A sample of weight 0 is padding, and a label of -1 counts for nothing:
// they add nothing and have no gradient, whatever the logits are. Any other label that is no class
// makes the loss NaN, so that nothing is updated.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/element_types.h"
#include "engine/cpu/families.h"
#include "engine/cpu/loss_loops.h"
#include "engine/cpu/threads.h"

namespace lockstep::engine::cpu {
namespace {

constexpr std::int32_t kNoLabel = -1;
constexpr std::int64_t kRowsAPiece = 8;

struct Rows {
  std::int64_t count, a_sample, classes;
  const std::int32_t* labels;
  const float* weights;

  [[nodiscard]] float weight(std::int64_t r) const {
    return labels[r] == kNoLabel ? 0.0F : weights[r / a_sample];
  }
  [[nodiscard]] bool known(std::int64_t r) const { return labels[r] >= 0 && labels[r] < classes; }
};

struct RowLoss {
  double loss;
  bool correct;
};

template <class T>
RowLoss loss_of(const Rows& rows, std::int64_t r, const T* logits, float& lse) {
  using Loops = SoftmaxLoops<T>;
  const float peak = Loops::largest(logits, rows.classes);
  const double log_sum = std::log(Loops::sum_of_exponentials(logits, rows.classes, peak));
  lse = static_cast<float>(static_cast<double>(peak) + log_sum);
  if (!rows.known(r)) return {std::numeric_limits<double>::quiet_NaN(), false};
  const std::int64_t label = rows.labels[r];
  const float chosen = to_float(logits[label]);
  // Of equal logits the first counts as the largest.
  const bool correct = chosen == peak && std::none_of(logits, logits + label,
                                                      [peak](T v) { return to_float(v) == peak; });
  return {log_sum + (static_cast<double>(peak) - static_cast<double>(chosen)), correct};
}

template <class T>
Kernel bind_forward(const Context& context, const Binding& b) {
  const Shape& shape = b.input(0).shape;
  const Rows rows{.count = shape[0],
                  .a_sample = shape[0] / b.input(2).shape[0],
                  .classes = shape[1],
                  .labels = b.in<std::int32_t>(1),
                  .weights = b.in<float>(2)};
  return [threads = context.threads, rows, logits = b.in<T>(0), totals = b.out<double>(0),
          lse = b.out<float>(1), losses = reinterpret_cast<RowLoss*>(b.workspace)] {
    for_ranges(threads, rows.count, kRowsAPiece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        lse[r] = 0;
        if (rows.weight(r) != 0) losses[r] = loss_of(rows, r, logits + r * rows.classes, lse[r]);
      }
    });
    std::fill_n(totals, 3, 0.0);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const auto weight = static_cast<double>(rows.weight(r));
      if (weight == 0) continue;
      totals[0] += weight * losses[r].loss;
      totals[1] += weight;
      totals[2] += losses[r].correct ? weight : 0.0;
    }
  };
}

// `dlogits` may be `logits`, and is stored as they are.
template <class T>
Kernel bind_backward(const Context& context, const Binding& b) {
  const Shape& shape = b.input(0).shape;
  const Rows rows{.count = shape[0],
                  .a_sample = shape[0] / b.input(3).shape[0],
                  .classes = shape[1],
                  .labels = b.in<std::int32_t>(2),
                  .weights = b.in<float>(3)};
  return [threads = context.threads, rows, logits = b.in<T>(0), lse = b.in<float>(1),
          state = b.in<StepState>(4), dlogits = b.out<T>(0)] {
    for_ranges(threads, rows.count, kRowsAPiece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* from = logits + r * rows.classes;
        T* to = dlogits + r * rows.classes;
        const float weight = rows.weight(r);
        if (weight == 0) {
          std::fill_n(to, rows.classes, T{});
          continue;
        }
        const float scale = weight / state->global_weight;
        // Before `to`, which may be `from`, is written; rounded to its type once.
        const std::int64_t label = rows.known(r) ? rows.labels[r] : 0;
        const float of_label =
            scale * (std::exp(to_float(from[label]) - lse[r]) - (rows.known(r) ? 1.0F : 0.0F));
        SoftmaxLoops<T>::probabilities(from, to, rows.classes, lse[r], scale);
        store(of_label, to[label]);
      }
    });
  };
}

}  // namespace

Family loss_kernels(const Context& context) {
  return {{.op = "softmax_cross_entropy",
           .bind =
               [context](const Binding& b) {
                 return with_element_types([&]<class T>() { return bind_forward<T>(context, b); },
                                           b.input(0).dtype);
               },
           .wishes =
               [](const Graph& graph, const Node& node) {
                 const auto rows = static_cast<std::size_t>(graph.value(node.inputs[0]).shape[0]);
                 return OperandWishes{.workspace = rows * sizeof(RowLoss)};
               }},
          {.op = "softmax_cross_entropy_backward", .bind = [context](const Binding& b) {
             return with_element_types([&]<class T>() { return bind_backward<T>(context, b); },
                                       b.input(0).dtype);
           }}};
}

}  // namespace lockstep::engine::cpu
