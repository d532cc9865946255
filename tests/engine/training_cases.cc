// Optimizers and the words that steer a step.
#include <fmt/format.h>

#include <cmath>

#include "engine/optimizer.h"
#include "tests/engine/conformance_case.h"

namespace lockstep::engine::test {
namespace {

using reference::Tensor;

Operand step_five() {
  return state_operand({.step = 5, .applied = 3, .seed = 9, .learning_rate = 0.125F});
}
Operand early(double skip) {
  return {tensor_of({4}, {2.5, 64, 7, skip}), DType::f64};
}
Operand late(bool present) {
  return {present ? tensor_of({2}, {16, 0.25}) : Tensor(), DType::f64};
}

void add_optimizers(std::int64_t count, double skip, bool clipped,
                    std::vector<ConformanceCase>& cases) {
  const Operand w{random_tensor({count}, 1), DType::f32, Role::parameter};
  const Operand g{random_tensor({count}, 2), DType::f32, Role::gradient, 0};
  const Operand m{random_tensor({count}, 3), DType::f32, Role::optimizer, 0, 0};
  const Operand v{absolute(random_tensor({count}, 4)), DType::f32, Role::optimizer, 0, 1};
  const std::string name =
      fmt::format("{}{}{}", count, skip != 0 ? "_skipped" : "", clipped ? "_clipped" : "");
  for (std::int64_t nesterov : {0, 1}) {
    cases.push_back(forward_case(
        {.name = name + (nesterov ? "_nesterov" : ""),
         .op = "sgd",
         .attributes = {{"momentum", 0.9}, {"nesterov", nesterov}, {"weight_decay", 0.01}},
         .inputs = {w, g, m, step_five(), early(skip), late(clipped)}},
        4));
  }
  cases.push_back(forward_case(
      {.name = name,
       .op = "adamw",
       .attributes = {{"beta1", 0.9}, {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", 0.01}},
       .inputs = {w, g, m, v, step_five(), early(skip), late(clipped)}},
      8));
}

void add_clip(std::vector<std::int64_t> counts, double clip, std::vector<ConformanceCase>& cases) {
  NodeCase node{.name = fmt::format("{}_gradients_to_{}", counts.size(), clip),
                .op = "clip_scale",
                .attributes = {{"clip_norm", clip}}};
  for (std::int64_t count : counts) {
    node.inputs.push_back({random_tensor({count}, static_cast<std::uint64_t>(count))});
  }
  cases.push_back(forward_case(node, 1e-6));  // double throughout
}

void add_words(std::vector<ConformanceCase>& cases) {
  const Schedule schedule{.kind = ScheduleKind::cosine,
                          .peak = 0.5,
                          .final = 0.1,
                          .warmup_steps = 3,
                          .decay_steps = 10};
  for (std::uint64_t step : {0u, 2u, 3u, 7u}) {
    cases.push_back(forward_case(
        {.name = fmt::format("step{}", step),
         .op = "advance_state",
         .attributes = to_attributes(schedule),
         .inputs = {state_operand({.step = step, .skip = 1}), {tensor_of({1}, {128})}}},
        0));
  }
  const Operand totals{tensor_of({3}, {1.5, 32, 4}), DType::f64};
  const Operand sums{tensor_of({3}, {2, 64, 6}), DType::f64, Role::state};
  for (std::int64_t first : {0, 1}) {
    cases.push_back(forward_case({.name = first ? "first" : "later",
                                  .op = "add_totals",
                                  .attributes = {{"first", first}},
                                  .inputs = {totals, sums}},
                                 0));
  }
  for (double loss : {1.5, std::nan(""), HUGE_VAL}) {
    cases.push_back(
        forward_case({.name = fmt::format("loss_{}", loss),
                      .op = "control_word",
                      .inputs = {{tensor_of({3}, {loss, 32, 4}), DType::f64, Role::state}}},
                     0));
  }
  for (double skip : {0.0, 1.0}) {
    for (bool clipped : {false, true}) {
      cases.push_back(forward_case({.name = fmt::format("skip{}_clipped{}", skip, clipped),
                                    .op = "conclude_state",
                                    .inputs = {step_five(), early(skip), late(clipped)}},
                                   0));
    }
  }
}

}  // namespace

std::vector<ConformanceCase> training_cases() {
  std::vector<ConformanceCase> cases;
  for (std::int64_t count : {1, 15, 17, 150, 40003}) {
    add_optimizers(count, 0, false, cases);
    add_optimizers(count, 0, true, cases);
  }
  add_optimizers(33, 1, true, cases);
  add_clip({1}, 100, cases);
  add_clip({17, 40003, 3}, 1, cases);
  add_words(cases);
  return cases;
}

}  // namespace lockstep::engine::test
